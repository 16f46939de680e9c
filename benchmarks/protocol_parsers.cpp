// SPDX-License-Identifier: Apache-2.0
// Speed of the streaming parsers of the text protocols: bytes per second of CPU time.
//   protocol_parsers [options of Google Benchmark]
//   protocol_parsers --texts FILE   writes the texts as JSON for other implementations
#include "benchmarks/protocol_texts.hpp"

#include <superstep/protocols/tool_protocol.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>

namespace {

using namespace superstep;

constexpr auto protocols = {"hermes", "morph_xml", "yaml_xml", "qwen3_coder"};
constexpr auto kinds = {"plain", "small", "large"};
// Models send pieces of a few bytes. Proxies and local servers combine them into larger pieces.
constexpr auto piece_sizes = {std::size_t{16}, std::size_t{256}, std::size_t{4096}};
constexpr auto text_bytes = std::size_t{256} * 1024;

/// Cuts the text into pieces, but never within a character, because servers do not do that either.
std::vector<std::string_view> pieces_of(std::string_view text, std::size_t size) {
  auto out = std::vector<std::string_view>{};
  for (auto at = std::size_t{0}; at < text.size();) {
    auto end = std::min(at + size, text.size());
    while (end < text.size() && (text[end] & '\xc0') == '\x80')
      ++end;
    out.push_back(text.substr(at, end - at));
    at = end;
  }
  return out;
}

void read_stream(benchmark::State& state, const std::string& name, const std::string& kind,
                 std::size_t piece_size) {
  const auto protocol = make_protocol(name).value();
  const auto tools = bench::parser_tools();
  const auto text = bench::parser_text(*protocol, kind, text_bytes);
  const auto pieces = pieces_of(text, piece_size);
  auto calls = std::size_t{0};
  for (auto _ : state) {
    const auto on_event = [&](const protocol_event& e) {
      calls += std::holds_alternative<stream_call>(e) ? 1U : 0U;
      benchmark::DoNotOptimize(e);
    };
    const auto stream = protocol->stream(tools, {}, on_event, {});
    for (const auto piece : pieces)
      stream->write(piece);
    stream->finish();
  }
  if ((calls > 0) != (kind != "plain"))
    state.SkipWithError("the calls were not found");
  state.counters["bytes"] = static_cast<double>(text.size());
  state.SetBytesProcessed(static_cast<std::int64_t>(text.size()) * state.iterations());
}

double least(const std::vector<double>& all) {
  return *std::ranges::min_element(all);
}

int write_texts(const char* path) {
  auto texts = json::object{};
  for (const auto* name : protocols) {
    const auto protocol = make_protocol(name).value();
    for (const auto* kind : kinds)
      texts[std::string{name} + '/' + kind] = bench::parser_text(*protocol, kind, text_bytes);
  }
  auto tools = json::array{};
  for (const auto& tool : bench::parser_tools())
    tools.push_back(tool.as_given);
  const auto all = json::object{{"tools", std::move(tools)}, {"texts", std::move(texts)}};
  auto out = std::ofstream{path, std::ios::binary};
  out << json::serialize(all);
  out.close();
  if (!out)
    std::cerr << "cannot write " << path << '\n';
  return out ? EXIT_SUCCESS : EXIT_FAILURE;
}

} // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view{argv[1]} == "--texts")
    return write_texts(argv[2]);
  // Uses the fastest of nine repetitions, because other processes affect it the least.
  for (const auto* name : protocols)
    for (const auto* kind : kinds)
      for (const auto size : piece_sizes)
        benchmark::RegisterBenchmark(
            (std::string{name} + '/' + kind + '/' + std::to_string(size)).c_str(), read_stream,
            std::string{name}, std::string{kind}, size)
            ->Repetitions(9)
            ->ReportAggregatesOnly()
            ->MinTime(0.05)
            ->ComputeStatistics("least", least);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv))
    return EXIT_FAILURE;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return EXIT_SUCCESS;
}

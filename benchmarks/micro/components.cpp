// SPDX-License-Identifier: Apache-2.0
// Costs of single components: channels, reducers, message lists, parsers, JSON, journal and
// limiter.
//   component_benchmarks [options of Google Benchmark]
#include "batch/journal.hpp"
#include "messages/partial_json.hpp"

#include <superstep/base/detail/limiter.hpp>
#include <superstep/channels/detail/slots.hpp>
#include <superstep/channels/kinds.hpp>
#include <superstep/messages/message_json.hpp>
#include <superstep/messages/messages.hpp>

#include <benchmark/benchmark.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace {

using namespace superstep;

/// A channel with the slot that stores its value.
template <class Channel, class Held>
struct stored_channel {
  stored_channel() { block.add(std::make_unique<slot_block::slot_of<Held>>(Held{})); }

  slot_block block{};
  id_source ids{"run"};
  Channel kind{"key", slot_place<Held>{0}};
};

template <class Stored>
void update_channel(benchmark::State& state) {
  auto channel = Stored{};
  const auto count = static_cast<std::size_t>(state.range(0));
  for (auto _ : state) {
    auto writes = std::vector<superstep::write>{};
    writes.reserve(count);
    for (auto i = std::size_t{0}; i < count; ++i)
      writes.push_back({0, false, value{std::int64_t{1}}});
    auto pointers = std::vector<superstep::write*>{};
    for (auto& w : writes)
      pointers.push_back(&w);
    auto done = channel.kind.update(channel.block, pointers, channel.ids);
    if (!done)
      state.SkipWithError(done.error().text.c_str());
    benchmark::DoNotOptimize(done);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

using integer = std::int64_t;
using last_channel =
    stored_channel<last_value<slot_place<std::optional<integer>>, integer>, std::optional<integer>>;
using sum_channel =
    stored_channel<binary_operator_aggregate<slot_place<integer>, integer, std::plus<>>, integer>;
BENCHMARK(update_channel<last_channel>)->Name("channel/last_value")->Arg(1);
BENCHMARK(update_channel<sum_channel>)->Name("channel/sum")->Arg(1)->Arg(1'000);

message_list make_history(std::size_t size) {
  auto ids = id_source{"run"};
  auto out = message_list{};
  for (auto i = std::size_t{0}; i < size; ++i)
    add_messages{}(out, {human_message(std::string(100, 'm'))}, ids);
  return out;
}

/// Adds one message to a copy of a history, as a super-step does.
void add_message(benchmark::State& state) {
  const auto history = make_history(static_cast<std::size_t>(state.range(0)));
  auto ids = id_source{"other"};
  for (auto _ : state) {
    auto list = history;
    add_messages{}(list, {human_message("one more")}, ids);
    benchmark::DoNotOptimize(list);
  }
}
BENCHMARK(add_message)->Name("reducer/add_messages")->RangeMultiplier(100)->Range(1, 10'000);

void read_messages(benchmark::State& state) {
  const auto history = make_history(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) {
    auto humans = 0;
    history.for_each_type(
        [&](message_type type) { humans += type == message_type::human ? 1 : 0; });
    benchmark::DoNotOptimize(humans);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(read_messages)->Name("message_list/types")->Arg(10)->Arg(10'000);

constexpr auto answer_text = std::string_view{
    R"({"role": "assistant", "content": "I will look it up.", "tool_calls": [{"id": "call_1", )"
    R"("type": "function", "function": {"name": "search", "arguments": "{\"query\": \"rain\"}"}}]})"};

void read_json_message(benchmark::State& state) {
  for (auto _ : state) {
    const auto tree = parse_json(answer_text);
    auto read = message_from_json(tree.value());
    if (!read || read->tool_calls.size() != 1)
      state.SkipWithError("the message was not read");
    benchmark::DoNotOptimize(read);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(answer_text.size()));
}
BENCHMARK(read_json_message)->Name("json/read_message");

void write_json_message(benchmark::State& state) {
  const auto said = message_from_json(parse_json(answer_text).value()).value();
  auto out = std::string{};
  for (auto _ : state) {
    out.clear();
    append_json(out, said);
    benchmark::DoNotOptimize(out);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(out.size()));
}
BENCHMARK(write_json_message)->Name("json/write_message");

void read_partial_json(benchmark::State& state) {
  const auto text = std::string{R"({"query": "rain in Seoul", "days": [1, 2, 3], "unit": "mm)"};
  for (auto _ : state)
    benchmark::DoNotOptimize(parse_partial_json(text));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}
BENCHMARK(read_partial_json)->Name("parser/partial_json");

void write_journal(benchmark::State& state) {
  auto out = std::string{};
  for (auto _ : state) {
    out.clear();
    detail::append_start(out, "row-1");
    detail::append_ok(out, "row-1", 1'000, {.steps = 8, .model_calls = 4, .tool_calls = 3});
    benchmark::DoNotOptimize(out);
  }
}
BENCHMARK(write_journal)->Name("journal/start_and_ok");

void enter_limiter(benchmark::State& state) {
  const auto gate = limiter{1};
  for (auto _ : state) {
    auto permit = gate.try_acquire();
    if (!permit)
      state.SkipWithError("no permit");
    benchmark::DoNotOptimize(permit);
  }
}
BENCHMARK(enter_limiter)->Name("limiter/try_acquire");

} // namespace

BENCHMARK_MAIN();

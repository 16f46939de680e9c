// SPDX-License-Identifier: Apache-2.0
// superstep-conformance [FILE.jsonl]: runs recorded graph cases and prints their traces.
//
// Reads one {"id", "case"} object, or a bare case, per line of the file or of standard input.
// Prints one line {"id", "trace"} per case and flushes it. All cases run on one engine.
// SUPERSTEP_WORKERS sets the number of lanes. SUPERSTEP_SHUFFLE sets a seed that shuffles the order
// in which the tasks of a step end, and the order of the cases of a file.
#include "graph_cases/case_run.hpp"
#include "graph_cases/expression.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace superstep;

std::optional<std::uint64_t> shuffle_seed() {
  const auto* text = std::getenv("SUPERSTEP_SHUFFLE");
  if (text == nullptr || *text == '\0')
    return std::nullopt;
  return std::stoull(text);
}

void run_line(const std::string& line, engine& e, std::optional<std::uint64_t> seed) {
  if (line.empty())
    return;
  const auto parsed = parse_json(line).value().as_object();
  const auto* inner = parsed.if_contains("case");
  const auto& test_case = inner != nullptr ? inner->as_object() : parsed;
  const auto& id = graph_cases::member(inner != nullptr ? parsed : test_case, "id");
  const auto out = json::object{{"id", id}, {"trace", graph_cases::run_case(test_case, e, seed)}};
  std::cout << to_text(out) << '\n' << std::flush;
}

void run_file(std::istream& from, engine& e) {
  const auto seed = shuffle_seed();
  auto lines = std::vector<std::string>{};
  for (auto line = std::string{}; std::getline(from, line);)
    lines.push_back(std::move(line));
  if (seed)
    std::ranges::shuffle(lines, std::mt19937_64{*seed});
  for (const auto& line : lines)
    run_line(line, e, seed);
}

} // namespace

int main(int argc, char** argv) {
  if (argc > 2 || (argc == 2 && std::string_view{argv[1]}.starts_with("-"))) {
    std::cerr << "usage: superstep-conformance [FILE.jsonl]\n"
                 "Runs recorded graph cases and prints their traces.\n";
    return 1;
  }
  auto options = engine_options{};
  if (const auto* workers = std::getenv("SUPERSTEP_WORKERS"))
    options.workers = static_cast<std::uint32_t>(std::stoul(workers));
  auto e = engine{options};
  if (argc == 1) { // each line is answered before the next is read
    const auto seed = shuffle_seed();
    for (auto line = std::string{}; std::getline(std::cin, line);)
      run_line(line, e, seed);
    return 0;
  }
  auto file = std::ifstream{argv[1]};
  if (!file) {
    std::cerr << argv[1] << ": cannot be read\n";
    return 1;
  }
  run_file(file, e);
  return 0;
}

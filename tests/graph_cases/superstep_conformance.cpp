// SPDX-License-Identifier: Apache-2.0
// superstep-conformance [FILE.jsonl]: runs recorded cases of graphs and prints their traces.
//
// Reads one {"id", "case"} object, or a bare case, per line of the file or of standard input and
// prints {"id", "trace"}, a line each, flushed. SUPERSTEP_WORKERS sets the number of
// lanes, SUPERSTEP_SHUFFLE a seed by which the ends of the tasks of a step are shuffled.
#include "graph_cases/case_run.hpp"
#include "graph_cases/expression.hpp"

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>

namespace {

using namespace superstep;

std::optional<std::uint64_t> shuffle_seed() {
  const auto* text = std::getenv("SUPERSTEP_SHUFFLE");
  if (text == nullptr || *text == '\0')
    return std::nullopt;
  return std::stoull(text);
}

void run_lines(std::istream& from, engine& e) {
  const auto seed = shuffle_seed();
  for (auto line = std::string{}; std::getline(from, line);) {
    if (line.empty())
      continue;
    const auto parsed = parse_json(line).value().as_object();
    const auto* inner = parsed.if_contains("case");
    const auto& test_case = inner != nullptr ? inner->as_object() : parsed;
    const auto& id = graph_cases::member(inner != nullptr ? parsed : test_case, "id");
    const auto out = json::object{{"id", id}, {"trace", graph_cases::run_case(test_case, e, seed)}};
    std::cout << to_text(out) << '\n' << std::flush;
  }
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
  if (argc == 1) {
    run_lines(std::cin, e);
    return 0;
  }
  auto file = std::ifstream{argv[1]};
  if (!file) {
    std::cerr << argv[1] << ": cannot be read\n";
    return 1;
  }
  run_lines(file, e);
  return 0;
}

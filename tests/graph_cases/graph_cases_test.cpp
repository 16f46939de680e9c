// SPDX-License-Identifier: Apache-2.0
// Every recorded case of a graph gives the recorded trace: with one lane, with two, and with the
// ends of the tasks of a step shuffled and some of them held up.
#include "graph_cases/case_run.hpp"
#include "graph_cases/expression.hpp"
#include "graph_cases/trace_judge.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <vector>

#include <zlib.h>

namespace {

using namespace superstep;

/// How many cases agreed when this was last raised.
constexpr auto agreeing_min = std::size_t{1'592};

/// The lines of a file, compressed or not.
std::vector<std::string> lines_of(const std::filesystem::path& path) {
  auto* const file = ::gzopen(path.c_str(), "rb");
  BOOST_REQUIRE_MESSAGE(file != nullptr, "cannot read " << path);
  auto text = std::string{};
  auto block = std::array<char, 1 << 16>{};
  for (auto n = 0; (n = ::gzread(file, block.data(), block.size())) > 0;)
    text.append(block.data(), static_cast<std::size_t>(n));
  ::gzclose(file);
  auto lines = std::vector<std::string>{};
  for (auto begin = std::size_t{0}; begin < text.size();) {
    const auto end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

std::vector<std::filesystem::path> case_files() {
  auto out = std::vector<std::filesystem::path>{};
  for (const auto& entry : std::filesystem::directory_iterator{SUPERSTEP_GRAPH_CASES})
    out.push_back(entry.path());
  std::ranges::sort(out);
  return out;
}

} // namespace

BOOST_DATA_TEST_CASE(recorded_cases_give_the_recorded_traces,
                     boost::unit_test::data::make({1U, 2U, 1U, 2U, 1U}) ^
                         boost::unit_test::data::make({0U, 0U, 1U, 2U, 3U}),
                     workers, seed) {
  auto e = engine{{.workers = workers}};
  const auto shuffle = seed == 0 ? std::nullopt : std::optional<std::uint64_t>{seed};
  auto agreeing = std::size_t{0};
  auto lacking = std::size_t{0};
  for (const auto& path : case_files()) {
    for (const auto& line : lines_of(path)) {
      const auto record = parse_json(line).value().as_object();
      const auto trace = graph_cases::run_case(record.at("case").as_object(), e, shuffle);
      if (graph_cases::is_unsupported(trace)) {
        ++lacking;
        continue;
      }
      const auto difference = graph_cases::first_difference(record.at("expect").as_array(), trace,
                                                            record.at("ordered").as_bool());
      BOOST_TEST(difference.empty(), record.at("id") << ": " << difference);
      agreeing += difference.empty() ? 1 : 0;
    }
  }
  BOOST_TEST_MESSAGE(agreeing << " cases agree, " << lacking << " ask for what is not there yet");
  BOOST_TEST(agreeing >= agreeing_min);
}

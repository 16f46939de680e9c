// SPDX-License-Identifier: Apache-2.0
// Every recorded graph case yields the recorded trace: with one lane, with two, with the ends of a
// step's tasks shuffled and some of them delayed, and in any order of the cases. All cases of a
// test share one engine, so that leftovers of one run disturb later ones and are noticed.
#include "graph_cases/case_file.hpp"
#include "graph_cases/case_run.hpp"
#include "graph_cases/expression.hpp"
#include "graph_cases/trace_judge.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace superstep;

/// Minimum number of cases whose traces agree. Never lower it.
constexpr auto agreeing_min = std::size_t{2'007};

using records = std::vector<json::object>;

records all_cases() {
  auto out = records{};
  graph_cases::for_each_case([&](const json::object& record) { out.push_back(record); });
  return out;
}

/// Runs the cases in order on one engine.
void check_traces(const records& cases, engine& e, std::optional<std::uint64_t> shuffle) {
  auto agreeing = std::size_t{0};
  auto lacking = std::size_t{0};
  for (const auto& record : cases) {
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
  BOOST_TEST_MESSAGE(agreeing << " cases agree, " << lacking << " need missing features");
  BOOST_TEST(agreeing >= agreeing_min);
}

// Numbers of lanes, and seeds of the shuffled ends of tasks (0: not shuffled). A pass of
// instrumented code takes half a minute, so sanitizers check only the pass with the most threads.
#ifdef __SANITIZE_ADDRESS__
constexpr auto lanes = std::array{2U};
constexpr auto seeds = std::array{2U};
#else
constexpr auto lanes = std::array{1U, 2U, 1U, 2U, 1U};
constexpr auto seeds = std::array{0U, 0U, 1U, 2U, 3U};
#endif

} // namespace

BOOST_DATA_TEST_CASE(graphs_reproduce_the_recorded_traces,
                     boost::unit_test::data::make(lanes) ^ boost::unit_test::data::make(seeds),
                     workers, seed) {
  auto e = engine{{.workers = workers}};
  check_traces(all_cases(), e, seed == 0 ? std::nullopt : std::optional<std::uint64_t>{seed});
}

BOOST_AUTO_TEST_CASE(traces_do_not_depend_on_order_of_cases) {
  const auto* given = std::getenv("SUPERSTEP_SHUFFLE");
  const auto seed = given != nullptr ? std::stoull(given) : std::random_device{}();
  BOOST_TEST_INFO_SCOPE("SUPERSTEP_SHUFFLE=" << seed);
  std::cerr << "recorded cases shuffled: SUPERSTEP_SHUFFLE=" << seed << '\n';
  auto cases = all_cases();
  std::ranges::shuffle(cases, std::mt19937_64{seed});
  auto e = engine{{.workers = 1}};
  check_traces(cases, e, std::nullopt);
}

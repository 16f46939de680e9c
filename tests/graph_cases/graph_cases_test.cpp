// SPDX-License-Identifier: Apache-2.0
// Every recorded case of a graph gives the recorded trace: with one lane, with two, and with the
// ends of the tasks of a step shuffled and some of them held up.
#include "graph_cases/case_file.hpp"
#include "graph_cases/case_run.hpp"
#include "graph_cases/expression.hpp"
#include "graph_cases/trace_judge.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <optional>

namespace {

using namespace superstep;

/// How many cases agreed when this was last raised.
constexpr auto agreeing_min = std::size_t{1'592};

} // namespace

BOOST_DATA_TEST_CASE(recorded_cases_give_the_recorded_traces,
                     boost::unit_test::data::make({1U, 2U, 1U, 2U, 1U}) ^
                         boost::unit_test::data::make({0U, 0U, 1U, 2U, 3U}),
                     workers, seed) {
  auto e = engine{{.workers = workers}};
  const auto shuffle = seed == 0 ? std::nullopt : std::optional<std::uint64_t>{seed};
  auto agreeing = std::size_t{0};
  auto lacking = std::size_t{0};
  graph_cases::for_each_case([&](const json::object& record) {
    const auto trace = graph_cases::run_case(record.at("case").as_object(), e, shuffle);
    if (graph_cases::is_unsupported(trace)) {
      ++lacking;
      return;
    }
    const auto difference = graph_cases::first_difference(record.at("expect").as_array(), trace,
                                                          record.at("ordered").as_bool());
    BOOST_TEST(difference.empty(), record.at("id") << ": " << difference);
    agreeing += difference.empty() ? 1 : 0;
  });
  BOOST_TEST_MESSAGE(agreeing << " cases agree, " << lacking << " ask for what is not there yet");
  BOOST_TEST(agreeing >= agreeing_min);
}

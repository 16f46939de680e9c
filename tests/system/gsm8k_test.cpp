// SPDX-License-Identifier: Apache-2.0
// Word problems (GSM8K) with recorded answers and a real calculator.
#include "gsm8k.hpp"
#include "numbers.hpp"

#include <boost/test/unit_test.hpp>

using namespace superstep::testing;

BOOST_AUTO_TEST_SUITE(gsm8k)

BOOST_AUTO_TEST_CASE(numbers_with_currency_percent_or_fraction_are_parsed) {
  BOOST_TEST(
      (numbers_in("$1,234.50 and 20% of -.5, or 3.") == std::vector{1234.5, 0.2, -0.5, 3.0}));
  BOOST_TEST(agree("18", "18.1"));
  BOOST_TEST(!agree("18", "19"));
  BOOST_TEST(!agree("Error: 18", "no number"));
}

BOOST_AUTO_TEST_CASE(gsm8k_rows_have_correct_results_and_answers) {
  const auto data = shared_data("gsm8k");
  auto job = cli_job{};
  job.write("agent.yaml", "name: math\nmodel: {provider: recorded, path: " + data +
                              "/recorded_turns.jsonl}\ntools: [calculator]\n");
  job.input = data + "/input.jsonl";
  const auto end = job.run();
  BOOST_TEST_REQUIRE(end.exit_code == 0, end.err);
  const auto rows = read_rows(job.read("out.jsonl"));
  const auto recorded = gsm8k_recordings();
  BOOST_TEST(rows.size() == recorded.size());
  auto calls = std::int64_t{0};
  for (const auto& [key, turns] : recorded) {
    BOOST_TEST_CONTEXT(key) {
      BOOST_TEST_REQUIRE(rows.contains(key));
      const auto& row = rows.at(key);
      check_gsm8k_row(row, turns);
      calls += row.at("tool_calls").as_int64();
    }
  }
  const auto summary = json::parse(job.read("out.summary.json"));
  BOOST_TEST(summary.at("rows").at("ok").to_number<std::size_t>() == recorded.size());
  BOOST_TEST(summary.at("tool_calls").to_number<std::int64_t>() == calls);
}

BOOST_AUTO_TEST_SUITE_END()

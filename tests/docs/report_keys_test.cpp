// SPDX-License-Identifier: Apache-2.0
// docs/reports.md describes every key that superstep report, diff and score write, and no other
// key.
#include "docs/documented_keys.hpp"
#include "results/compare.hpp"
#include "results/report.hpp"
#include "results/score.hpp"
#include "unit/results/output_file.hpp"

#include <boost/test/unit_test.hpp>

#include <fstream>
#include <iterator>
#include <string>

BOOST_FIXTURE_TEST_SUITE(report_keys, superstep::results::testing::output_files)

namespace {

using namespace superstep;
using namespace superstep::results;
using superstep::testing::add_keys;
using superstep::testing::key_set;

/// Returns lines with all values: a row with a tool call, a cost and a score, and a failed row.
std::string lines() {
  auto line = parse_json(results::testing::ok_line("a", "1")).value();
  auto& members = line.as_object();
  members["cost"] = 0.5;
  members["score"] = 1;
  members["barrier_wait_ms"] = 2.5;
  members["output"]
      .at("messages")
      .as_array()
      .push_back(json::object{{"type", "tool"}, {"name", "NAME"}, {"content", "1"}});
  return superstep::to_text(line) + '\n' + results::testing::failed_line("b", "CLASS");
}

void check(const std::string& heading, const key_set& written) {
  superstep::testing::check_section("docs/reports.md", heading, written);
}

key_set keys_of(const json::value& value) {
  auto out = key_set{};
  add_keys(out, value, "");
  return out;
}

} // namespace

BOOST_AUTO_TEST_CASE(keys_of_reports_are_documented) {
  check("The report as JSON",
        keys_of(to_json(report::of_file(write("out.jsonl", lines())).value())));
}

BOOST_AUTO_TEST_CASE(keys_of_comparisons_are_documented) {
  auto options = compare_options{};
  options.keeps_same = true;
  const auto got = compare(write("a.jsonl", lines()), write("b.jsonl", lines()), options).value();
  BOOST_TEST_REQUIRE(got.rows.size() == 2U);
  check("Rows of a comparison as JSON", keys_of(to_json(got.rows.front())));
  auto totals = to_json(got);
  for (const auto* side : {"left", "right"})
    totals[side] = nullptr; // reports
  check("Totals of a comparison as JSON", keys_of(totals));
}

BOOST_AUTO_TEST_CASE(keys_of_scores_are_documented) {
  auto options = score_options{};
  options.output = write("s.jsonl", lines());
  options.gold_file = write("gold.jsonl", R"({"id":"a","label":"1"})");
  options.field = "label";
  options.judge = "judge.yaml";
  const auto scored = score_file(options).value();
  auto in = std::ifstream{scored.path};
  check("The file of scores",
        superstep::testing::keys_of_lines({std::istreambuf_iterator<char>{in}, {}}));
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: Apache-2.0
// docs/batch-files.md describes every key of the lines that a job writes, and no other key.
#include "batch/json_text.hpp"
#include "batch/output_line.hpp"
#include "batch/row_fields.hpp"
#include "docs/documented_keys.hpp"

#include <superstep/batch/batch.hpp>
#include <superstep/messages/message_json.hpp>

#include <boost/test/unit_test.hpp>

#include <set>
#include <sstream>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(batch_keys)

namespace {

using namespace superstep;
using namespace superstep::detail;
using testing::key_set;

constexpr auto page = "docs/batch-files.md";

void check_section(const std::string& heading, const key_set& written) {
  testing::check_section(page, heading, written);
}

row_error failure() {
  auto out = row_error{};
  out.kind = "node_failed";
  out.message = "no";
  out.node = "agent";
  out.attempts = 1;
  out.step = 1;
  out.answer = "cut";
  return out;
}

/// Returns the output lines of three rows: one that succeeded, and two that failed, of which one
/// has an HTTP status.
std::string output_lines(row_shape shape, const std::string& key_name) {
  auto origin = row_origin{};
  origin.shape = shape;
  origin.key = "a";
  origin.key_name = key_name;
  origin.columns = R"({"stars":5})";
  auto outcome = row_outcome{};
  outcome.cost = 1;
  outcome.usage.input_details["cached_answers"] = 1;
  outcome.messages.push_back(human_message("hello"));
  outcome.messages.push_back(ai_message("", {tool_call{"c", "f", {}}}));
  auto out = std::string{};
  append_output_line(out, origin, outcome, {}, {"run-1", 0});
  outcome.status = row_status::error;
  outcome.error = failure();
  append_output_line(out, origin, outcome, {}, {"run-1", 0});
  outcome.error->http_status = 429;
  append_output_line(out, origin, outcome, {}, {"run-1", 0});
  return out;
}

} // namespace

BOOST_AUTO_TEST_CASE(keys_of_output_lines_are_documented) {
  check_section("Output of batch requests",
                testing::keys_of_lines(output_lines(row_shape::openai, "custom_id")));
  check_section("Output of native and chat rows",
                testing::keys_of_lines(output_lines(row_shape::chat, "id") +
                                       output_lines(row_shape::chat, "custom_id")));
}

// The error for an unknown field lists all fields.
BOOST_AUTO_TEST_CASE(fields_of_output_are_documented) {
  const auto refused = columns_of({"?"}, output_format::jsonl, {}, {});
  BOOST_REQUIRE(!refused.has_value());
  const auto text = refused.error().text;
  constexpr auto intro = std::string_view{"known fields: "};
  auto names = std::istringstream{text.substr(text.find(intro) + intro.size())};
  auto known = key_set{};
  for (auto name = std::string{}; std::getline(names >> std::ws, name, ',');)
    known.insert(name);
  auto told = testing::documented(page, "Fields, CSV and order");
  for (const auto* name :
       {"response", "response.NAME", "NAME", "columns.NAME"}) // depend on agent and input
    BOOST_TEST(told.erase(name) == 1U, name);
  BOOST_TEST(known.size() > 20U);
  BOOST_TEST((told == known));
}

BOOST_AUTO_TEST_CASE(keys_of_dead_letters_are_documented) {
  auto origin = row_origin{};
  origin.key = "7";
  origin.key_name = "id";
  origin.is_numbered = true;
  origin.line = 7;
  auto lines = std::string{};
  auto why = failure();
  why.http_status = 429;
  append_dead_line(lines, origin, "{}", why);
  origin.has_foreign_key = true;
  append_dead_line(lines, origin, "{}", failure());
  origin.has_error = true;
  append_dead_line(lines, origin, R"({"error":"a column"})", failure());
  append_bad_line(lines, 8, "no row", error{errc::invalid_argument, "no JSON"});
  check_section("Dead letters", testing::keys_of_lines(lines));
}

BOOST_AUTO_TEST_CASE(keys_of_the_summary_are_documented) {
  auto summary = batch_summary{};
  for (auto* times : {&summary.row_times, &summary.tool_times, &summary.barrier_waits})
    times->add(std::chrono::milliseconds{1});
  summary.stop = {stop_cause::request, "stopped on request"};
  summary.cached_answers = 1;
  auto keys = key_set{};
  testing::add_keys(keys, to_json(summary), "");
  check_section("The summary", keys);
}

BOOST_AUTO_TEST_CASE(keys_of_progress_lines_are_documented) {
  auto out = std::ostringstream{};
  const auto sink = make_progress_sink(progress_mode::json, out);
  sink->update({});
  sink->note("a remark");
  sink->finish({});
  check_section("Progress lines", testing::keys_of_lines(out.str()));
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: Apache-2.0
// Progress displays of a batch job: plain, bar, JSON and none, and the final summary.
#include "base/visible_text.hpp"
#include "batch/error_line.hpp"
#include "batch/usd_text.hpp"

#include <superstep/base/json.hpp>
#include <superstep/batch/batch.hpp>

#include <boost/test/unit_test.hpp>

#include <sstream>

BOOST_AUTO_TEST_SUITE(progress)

namespace {

using namespace superstep;

batch_progress sample() {
  auto now = batch_progress{};
  now.rows = 100;
  now.done = 50;
  now.failed = 2;
  now.in_flight = 8;
  now.tokens = 1234;
  now.rows_per_second = 12.5;
  now.eta_seconds = 3725;
  now.p50 = std::chrono::milliseconds{20};
  now.p95 = std::chrono::milliseconds{90};
  return now;
}

std::string shown(progress_mode mode) {
  auto out = std::ostringstream{};
  auto sink = make_progress_sink(mode, out);
  sink->update(sample());
  sink->note("resumed");
  sink->finish(sample());
  return out.str();
}

constexpr auto line =
    "50/100 done, 2 failed, ETA 1h02m, 8 in flight, 12.5 rows/s, p50/p95 20/90 ms, 1234 tokens";

} // namespace

BOOST_AUTO_TEST_CASE(progress_modes_are_parsed_and_unknown_names_rejected) {
  BOOST_TEST((parse_progress_mode("auto", true) == progress_mode::bar));
  BOOST_TEST((parse_progress_mode("auto", false) == progress_mode::plain));
  BOOST_TEST((parse_progress_mode("json", true) == progress_mode::json));
  BOOST_TEST(!parse_progress_mode("loud", true).has_value());
}

BOOST_AUTO_TEST_CASE(plain_mode_prints_one_line_per_update) {
  BOOST_TEST(shown(progress_mode::plain) == std::string{line} + "\nresumed\n" + line + "\n");
}

BOOST_AUTO_TEST_CASE(bar_mode_replaces_its_line_by_notes) {
  const auto bar = std::string{"\r\x1b[?7l[#####.....] "} + line + "\x1b[J\x1b[?7h\r";
  BOOST_TEST(shown(progress_mode::bar) == bar + "\r\x1b[Jresumed\n" + bar + "\n");
}

BOOST_AUTO_TEST_CASE(plain_mode_does_not_repeat_its_last_line) {
  auto out = std::ostringstream{};
  auto sink = make_progress_sink(progress_mode::plain, out);
  sink->update(sample());
  sink->finish(sample());
  BOOST_TEST(out.str() == std::string{line} + '\n');
}

/// Returns the text of one update of a bar without control sequences.
std::string bar_at(std::size_t columns, const batch_progress& now) {
  auto out = std::ostringstream{};
  auto terminal = progress_terminal{};
  terminal.columns = [=] { return columns; };
  make_progress_sink(progress_mode::bar, out, terminal)->update(now);
  auto text = out.str();
  const auto begin = text.find("\x1b[?7l") + 5;
  return text.substr(begin, text.rfind("\x1b[J") - begin);
}

batch_progress full_sample() {
  auto now = sample();
  now.cost = 1.5;
  now.cost_projected = 3;
  now.barrier_waste = 0.12;
  return now;
}

BOOST_AUTO_TEST_CASE(bar_is_one_line_at_every_width) {
  for (auto columns = std::size_t{1}; columns <= 220; ++columns) {
    const auto text = bar_at(columns, full_sample());
    BOOST_TEST(text.size() < columns, columns << ": " << text);
    BOOST_TEST(!text.ends_with(", "));
  }
}

BOOST_AUTO_TEST_CASE(bar_omits_less_important_parts_first) {
  BOOST_TEST(bar_at(60, full_sample()) == "[#####.....] 50/100 done, 2 failed, ETA 1h02m, 8 in "
                                          "flight");
  BOOST_TEST(bar_at(80, full_sample()) ==
             "[#####.....] 50/100 done, 2 failed, ETA 1h02m, 8 in flight, 12.5 rows/s");
  const auto wide = bar_at(120, full_sample());
  BOOST_TEST(wide == "[#####.....] 50/100 done, 2 failed, ETA 1h02m, 8 in flight, 12.5 rows/s, "
                     "$1.50 of ~$3.00, p50/p95 20/90 ms");
  BOOST_TEST(bar_at(200, full_sample()) == wide);
  auto free = full_sample();
  free.cost.reset();
  BOOST_TEST(bar_at(200, free) ==
             "[#####.....] 50/100 done, 2 failed, ETA 1h02m, 8 in flight, 12.5 rows/s, "
             "p50/p95 20/90 ms, barrier waste 12 %");
}

BOOST_AUTO_TEST_CASE(bar_shows_pause_instead_of_remaining_time) {
  auto now = full_sample();
  now.paused = "quota exhausted";
  BOOST_TEST(bar_at(80, now).find("paused: quota exhausted") != std::string::npos);
  // A drain ends when the rows in flight have ended, unless there is another reason.
  now.draining = true;
  BOOST_TEST(bar_at(80, now).find("draining, 8 in flight") != std::string::npos);
  now.in_flight = 0;
  now.paused = "the ledger is not available";
  BOOST_TEST(bar_at(120, now).find("draining, the ledger is not available, 0 in flight") !=
             std::string::npos);
  BOOST_TEST(bar_at(120, now).find("ETA") == std::string::npos);
}

/// The progress of a job whose server refuses all connections.
batch_progress stuck_sample() {
  auto now = batch_progress{};
  now.rows = 80;
  now.in_flight = 4;
  now.retries = 17;
  now.calls_repeating = 4;
  now.last_error = "POST http://127.0.0.1:4000/v1/chat/completions: Connection refused";
  return now;
}

BOOST_AUTO_TEST_CASE(bar_shows_retries_and_their_error) {
  BOOST_TEST(bar_at(60, stuck_sample()) == "0/80 done, 0 failed, 4 retrying, Connection refused");
  BOOST_TEST(bar_at(40, stuck_sample()) == "0/80 done, 4 retrying, Connection re...");
  BOOST_TEST(bar_at(80, stuck_sample()) ==
             "[..........] 0/80 done, 0 failed, 4 retrying, Connection refused, 4 in flight");
  auto now = stuck_sample();
  BOOST_TEST(bar_at(120, now).ends_with("0 tokens, 17 retries"));
  now.retries = 1;
  BOOST_TEST(bar_at(120, now).ends_with("0 tokens, 1 retry"));
  for (auto columns = std::size_t{1}; columns <= 220; ++columns) {
    const auto text = bar_at(columns, stuck_sample());
    BOOST_TEST(text.size() < columns, columns << ": " << text);
    BOOST_TEST(!text.ends_with(", "));
  }
}

BOOST_AUTO_TEST_CASE(bar_shows_how_long_no_row_has_ended) {
  auto now = batch_progress{};
  now.rows = 80;
  now.in_flight = 4;
  now.quiet_seconds = 29;
  BOOST_TEST(bar_at(120, now).find("no row") == std::string::npos);
  now.quiet_seconds = 95;
  BOOST_TEST(bar_at(80, now) ==
             "[..........] 0/80 done, 0 failed, no row has ended for 1m35s, 4 in flight");
  now.calls_repeating = 4; // their error is shown instead
  BOOST_TEST(bar_at(120, now).find("no row") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(bar_shows_calls_that_wait_for_limits) {
  auto now = sample();
  now.calls_waiting = 8;
  BOOST_TEST(bar_at(60, now) == "[#####.....] 50/100 done, 2 failed, ETA 1h02m, 8 waiting");
}

BOOST_AUTO_TEST_CASE(errors_of_single_rows_follow_more_important_parts) {
  auto now = sample();
  now.last_error = "the model's structured response: the answer is empty";
  BOOST_TEST(bar_at(60, now) == bar_at(60, sample()));
  BOOST_TEST(bar_at(120, now) == "[#####.....] 50/100 done, 2 failed, ETA 1h02m, 8 in flight, 12.5 "
                                 "rows/s, p50/p95 20/90 ms, the model's structured re...");
}

BOOST_AUTO_TEST_CASE(errors_become_one_visible_line) {
  BOOST_TEST(one_line("first\nsecond\tthird", 100) == "first second third");
  BOOST_TEST(one_line("\x1b[2J", 100).find('\x1b') == std::string::npos);
  BOOST_TEST(one_line("abcdef", 6) == "abcdef");
  BOOST_TEST(one_line("abcdefg", 6) == "abc...");
  BOOST_TEST(one_line("ab \u00e9\u00e9\u00e9", 6) == "ab...");
  for (auto size = std::size_t{3}; size < 40; ++size) {
    const auto line =
        one_line(std::string(30, '\x01') + "\u00e9\u4e2d\u6587 end of the text", size);
    BOOST_TEST(line.size() <= size);
    BOOST_TEST(line.ends_with("..."));
  }
  BOOST_TEST(detail::without_address("https://a.b/v1: status 503: busy") == "status 503: busy");
  BOOST_TEST(detail::without_address("no rule matches: x") == "no rule matches: x");
}

BOOST_AUTO_TEST_CASE(amounts_have_at_least_two_decimal_places) {
  using detail::usd_text;
  const auto cases = std::vector<std::pair<double, std::string>>{
      {0, "$0.00"},    {1234.5, "$1234.50"},      {1, "$1.00"},          {0.5, "$0.50"},
      {0.05, "$0.05"}, {0.0123, "$0.0123"},       {0.9996, "$1.00"},     {0.012345, "$0.0123"},
      {0.1, "$0.10"},  {0.0000042, "$0.0000042"}, {1e-9, "$0.000000001"}};
  for (const auto& [dollars, text] : cases)
    BOOST_TEST(usd_text(dollars) == text);
  // The sums of the same costs in two orders.
  BOOST_TEST(usd_text(0.01125) == usd_text(0.011250000000000003));
}

BOOST_AUTO_TEST_CASE(json_progress_contains_retries_and_errors) {
  auto out = std::ostringstream{};
  auto now = stuck_sample();
  now.calls_waiting = 3;
  now.errors = {{"invalid_response", 2}};
  make_progress_sink(progress_mode::json, out)->update(now);
  const auto line = parse_json(out.str()).value();
  BOOST_TEST(line.at("retries").to_number<int>() == 17);
  BOOST_TEST(line.at("calls_repeating").to_number<int>() == 4);
  BOOST_TEST(line.at("calls_waiting").to_number<int>() == 3);
  BOOST_TEST(to_text(line.at("errors")) == R"({"invalid_response":2})");
  BOOST_TEST(line.at("last_error").as_string() == now.last_error);
  BOOST_TEST(parse_json(shown(progress_mode::json)).has_value() == false); // several lines
}

BOOST_AUTO_TEST_CASE(json_mode_prints_one_object_per_line) {
  auto lines = std::istringstream{shown(progress_mode::json)};
  auto text = std::string{};
  std::getline(lines, text);
  auto first = parse_json(text).value();
  BOOST_TEST(first.at("event").as_string() == "progress");
  BOOST_TEST(first.at("done").as_int64() == 50);
  BOOST_TEST(first.at("p95_ms").as_double() == 90.0);
  std::getline(lines, text);
  BOOST_TEST(parse_json(text).value().at("text").as_string() == "resumed");
}

BOOST_AUTO_TEST_CASE(json_durations_are_null_before_first_row) {
  auto out = std::ostringstream{};
  make_progress_sink(progress_mode::json, out)->update(batch_progress{});
  const auto line = parse_json(out.str()).value();
  BOOST_TEST(line.at("p50_ms").is_null());
  BOOST_TEST(line.at("p95_ms").is_null());
}

BOOST_AUTO_TEST_CASE(none_mode_prints_notes_only) {
  BOOST_TEST(shown(progress_mode::none) == "resumed\n");
}

BOOST_AUTO_TEST_CASE(drained_job_summary_reports_counts_and_advises_rerun) {
  auto summary = batch_summary{};
  summary.code = exit_code::drained;
  summary.stop = {stop_cause::request, "stopped on request"};
  summary.rows = 10;
  summary.ok = 4;
  summary.failed = 1;
  summary.seconds = 2;
  summary.rows_this_run = 5;
  summary.output = "out.jsonl";
  summary.dead = "out.dead.jsonl";
  summary.row_times.add(std::chrono::milliseconds{16});
  auto text = to_text(summary);
  BOOST_TEST(text.find("10 rows: 4 ok, 1 failed, 5 left") == 0U);
  BOOST_TEST(text.find("2.00 s, 2.5 rows/s") != std::string::npos);
  BOOST_TEST(text.find("failed rows in out.dead.jsonl") != std::string::npos);
  BOOST_TEST(text.find("rerun to resume") != std::string::npos);
  BOOST_TEST(to_json(summary).at("status").as_string() == "drained");
}

BOOST_AUTO_TEST_CASE(summary_of_job_not_begun_has_no_counts) {
  auto summary = batch_summary{};
  summary.code = exit_code::drained;
  summary.stop = {stop_cause::request, "stopped on request"};
  BOOST_TEST(to_text(summary) == "stopped on request before the job began; rerun to resume");
  summary.is_resumable = false;
  BOOST_TEST(to_text(summary) == "stopped on request before the job began");
}

BOOST_AUTO_TEST_CASE(summary_of_standard_output_does_not_advise_resuming) {
  for (const auto& stop : {job_stop{stop_cause::request, "stopped on request"},
                           job_stop{stop_cause::budget, "the job has cost $1"}}) {
    auto summary = batch_summary{};
    summary.code = exit_code::drained;
    summary.stop = stop;
    summary.rows = 10;
    summary.output = "standard output";
    summary.is_resumable = false;
    const auto text = to_text(summary);
    BOOST_TEST(text.find("rerun to resume") == std::string::npos, text);
    BOOST_TEST(text.ends_with("cannot be resumed: a rerun runs all its rows"), text);
  }
}

/// Returns the lines of a summary's text that begin with `start`.
std::string lines_with(const batch_summary& summary, std::string_view start) {
  auto lines = std::istringstream{to_text(summary)};
  auto out = std::string{};
  for (auto line = std::string{}; std::getline(lines, line);)
    if (line.starts_with(start))
      out += line + '\n';
  return out;
}

BOOST_AUTO_TEST_CASE(summary_lists_reasons_of_failed_rows) {
  auto summary = batch_summary{};
  summary.rows = summary.failed = 12;
  summary.errors = {{"invalid_response", 9}, {"timed_out", 3}};
  summary.last_error = "the answer is\nempty";
  summary.dead = "out.dead.jsonl";
  BOOST_TEST(lines_with(summary, "failed") ==
             "failed: 12 (invalid_response 9, timed_out 3); run them again with --retry-dead\n");
  BOOST_TEST(lines_with(summary, "last error") == "last error: the answer is empty\n");
  BOOST_TEST(to_text(to_json(summary).at("errors")) == R"({"invalid_response":9,"timed_out":3})");
  summary.failed = 20;
  summary.bad_lines = 2;
  BOOST_TEST(lines_with(summary, "failed") ==
             "failed: 20 (invalid_response 9, timed_out 3, invalid lines 2, in other runs 6); run "
             "them again with --retry-dead\n");
  summary.dead.clear();
  summary.retry = "superstep jobs retry-dead"; // a database has the rows
  BOOST_TEST(lines_with(summary, "failed").ends_with("again with superstep jobs retry-dead\n"));
  summary.is_resumable = false; // the rows are on standard output
  BOOST_TEST(lines_with(summary, "failed").ends_with("in other runs 6)\n"));
}

BOOST_AUTO_TEST_CASE(summary_gives_no_hint_for_rows_that_fail_again) {
  auto summary = batch_summary{};
  summary.failed = 5;
  summary.bad_lines = 1;
  summary.errors = {{"invalid_input", 3}, {"recursion_limit", 1}};
  summary.dead = "out.dead.jsonl";
  BOOST_TEST(lines_with(summary, "failed") ==
             "failed: 5 (invalid_input 3, recursion_limit 1, invalid lines 1)\n");
  summary.errors = {{"a", 1}, {"b", 2}, {"c", 3}, {"d", 4}, {"e", 5}, {"f", 6}, {"g", 7}};
  summary.failed = 29;
  BOOST_TEST(lines_with(summary, "failed") ==
             "failed: 29 (g 7, f 6, e 5, d 4, c 3, others 3, invalid lines 1); run them again "
             "with --retry-dead\n");
}

BOOST_AUTO_TEST_CASE(stopped_job_names_the_error_of_its_calls) {
  auto summary = batch_summary{};
  summary.code = exit_code::drained;
  summary.stop = {stop_cause::request, "stopped on request"};
  summary.rows = 80;
  summary.last_error = "Connection refused";
  BOOST_TEST(lines_with(summary, "last error") == "last error: Connection refused\n");
  summary.stop = {stop_cause::quota, "the quota is exhausted"}; // its text names the error
  BOOST_TEST(lines_with(summary, "last error").empty());
  BOOST_TEST(to_json(summary).at("last_error").as_string() == "Connection refused");
}

BOOST_AUTO_TEST_CASE(summary_of_one_row_uses_the_singular) {
  auto summary = batch_summary{};
  summary.rows = summary.failed = summary.bad_lines = 1;
  summary.steps = summary.model_calls = summary.tool_calls = summary.total_tokens = 1;
  BOOST_TEST(to_text(summary).starts_with("1 row: 0 ok, 1 failed (1 invalid line)\n"
                                          "1 step, 1 model call, 1 tool call, 1 token ("));
  summary.already_finished = true;
  BOOST_TEST(to_text(summary).starts_with("nothing to do: the only row is done"));
}

BOOST_AUTO_TEST_SUITE_END()

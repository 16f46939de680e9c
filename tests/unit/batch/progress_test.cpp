// SPDX-License-Identifier: Apache-2.0
// Progress displays of a batch job: plain, bar, JSON and none, and the final summary.
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
  BOOST_TEST(bar_at(80, now).find("ETA") == std::string::npos);
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

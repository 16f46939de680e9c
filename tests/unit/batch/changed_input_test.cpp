// SPDX-License-Identifier: Apache-2.0
// Jobs whose input has changed: between two runs (--force), and while a job runs.
#include "job_fixture.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <string_view>
#include <thread>

BOOST_AUTO_TEST_SUITE(changed_inputs)

namespace {

using namespace superstep;
using namespace superstep::testing;

std::string failing_lines(std::string_view keys) {
  auto out = std::string{};
  for (const auto key : keys)
    out += chat_line({&key, 1}, "fail");
  return out;
}

/// Changes the input when a row starts.
class changing_runner final : public row_runner {
public:
  explicit changing_runner(std::function<void()> change) : change_{std::move(change)} {}
  std::unique_ptr<running_row> submit(row_request request, done_function done) override {
    if (++rows == 2) {
      std::this_thread::sleep_for(std::chrono::milliseconds{20}); // the clock of files is coarse
      change_();
    }
    done(echo(request));
    return std::make_unique<no_handle>();
  }

  int rows = 0;

private:
  std::function<void()> change_;
};

} // namespace

BOOST_AUTO_TEST_CASE(retry_keeps_failed_rows_of_earlier_input) {
  for (const auto is_forced_before : {false, true}) {
    auto job = testing::job{chat_lines(2) + failing_lines("abc")};
    BOOST_TEST(job.run().value().failed == 3U);
    write_file(job.options.input, failing_lines("c") + chat_lines(3));
    job.options.force = true;
    if (is_forced_before)
      BOOST_TEST(job.run().value().rows_this_run == 1U);
    job.options.force = !is_forced_before;
    job.options.retry_dead = true;
    job.runner.runs.clear();
    job.progress.notes.clear();
    const auto again = job.run().value();
    BOOST_TEST(job.runner.runs["c"] == 1);
    BOOST_TEST(job.runner.runs.size() == (is_forced_before ? 1U : 2U));
    BOOST_TEST(again.other == 2U);
    BOOST_TEST(again.left() == 0U);
    BOOST_TEST(std::ranges::count(job.progress.notes, "1 of 3 failed rows runs again") == 1);
    const auto letters = rows_of(job.file("out.dead.jsonl"));
    const auto rows = job.output();
    BOOST_TEST(rows.size() == 6U);
    for (const auto* key : {"a", "b", "c"}) {
      BOOST_TEST(letters.contains(key), key);
      BOOST_TEST(rows.contains(key), key);
    }
  }
}

BOOST_AUTO_TEST_CASE(retry_runs_failed_samples_of_changed_input) {
  auto job = testing::job{failing_lines("ab")};
  job.options.repeat = 2;
  BOOST_TEST(job.run().value().failed == 4U);
  write_file(job.options.input, failing_lines("b"));
  job.options.force = job.options.retry_dead = true;
  job.runner.runs.clear();
  BOOST_TEST(job.run().value().other == 2U);
  BOOST_TEST(job.runner.runs.size() == 2U);
  BOOST_TEST(rows_of(job.file("out.dead.jsonl")).size() == 4U);
}

BOOST_AUTO_TEST_CASE(numbers_of_limited_run_count_whole_input) {
  auto job = testing::job{chat_lines(10)};
  job.options.limit = 5;
  BOOST_TEST(job.run().value().left() == 5U);
  write_file(job.options.input, chat_lines(11));
  job.options.limit = 3;
  job.options.force = true;
  job.progress.notes.clear();
  const auto part = job.run().value();
  BOOST_TEST(part.other == 0U);
  BOOST_TEST(part.left() == 6U);
  BOOST_TEST(has(to_text(part), "6 left, 5 done before this run\n"), to_text(part));
  BOOST_TEST(job.progress.last.done == 5U);
  BOOST_TEST(std::ranges::count(job.progress.notes, "resumed: 5 of 11 rows done") == 1);
}

BOOST_AUTO_TEST_CASE(progress_counts_rows_of_this_input_only) {
  auto job = testing::job{failing_lines("abc") + chat_lines(4)};
  BOOST_TEST(job.run().has_value());
  write_file(job.options.input, failing_lines("c") + chat_lines(6));
  job.options.force = true;
  const auto summary = job.run().value();
  BOOST_TEST(summary.other == 2U);
  BOOST_TEST(summary.failed == 3U);
  BOOST_TEST(job.progress.last.rows == 7U);
  BOOST_TEST(job.progress.last.done == 7U);
  BOOST_TEST(job.progress.last.failed == 1U);
}

BOOST_AUTO_TEST_CASE(job_stops_if_its_input_changes) {
  const auto before = chat_lines(6);
  auto swapped = before;
  swapped.replace(swapped.find("hi 4"), 4, "ho 4");
  for (const auto& after : {chat_lines(8), chat_lines(3), swapped}) {
    auto job = testing::job{before};
    auto runner = changing_runner{[&] { write_file(job.options.input, after); }};
    const auto stopped = run_batch(job.options, runner, job.progress, job.stop);
    BOOST_REQUIRE(!stopped.has_value());
    BOOST_TEST(has(stopped.error().text, "in.jsonl was changed while it was used"),
               stopped.error().text);
    BOOST_TEST((stopped.error().code == errc::invalid_argument));
    write_file(job.options.input, before);
    BOOST_TEST(job.run().value().left() == 0U);
    BOOST_TEST(job.output().size() == 6U);
  }
}

BOOST_AUTO_TEST_SUITE_END()

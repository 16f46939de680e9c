// SPDX-License-Identifier: Apache-2.0
// Rows that encounter a resource shortage of the machine, and jobs whose own storage fails.
#include "job_fixture.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <new>
#include <optional>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

BOOST_AUTO_TEST_SUITE(shortage)

namespace {

using namespace superstep;
using namespace superstep::testing;

/// Ends each row with the error that `judge` returns, or successfully if it returns none.
class judged_runner final : public row_runner {
public:
  std::unique_ptr<running_row> submit(row_request request, done_function done) override {
    auto outcome = echo(request);
    outcome.fault = judge(++runs[request.key]);
    done(std::move(outcome));
    return std::make_unique<no_handle>();
  }

  std::map<std::string, int> runs;
  std::function<std::optional<row_fault>(int run)> judge;
};

row_fault shortage_of(std::string text) {
  return {row_fault::kind::shortage, std::move(text)};
}

struct short_job : job {
  explicit short_job(int rows) : job{chat_lines(rows)} {}
  result<batch_summary> run() { return run_batch(options, judged, progress, stop); }
  judged_runner judged;
};

} // namespace

BOOST_AUTO_TEST_CASE(row_that_hits_resource_shortage_runs_again) {
  auto job = short_job{6};
  job.judged.judge = [](int run) -> std::optional<row_fault> {
    if (run == 1)
      return shortage_of("Too many open files");
    return std::nullopt;
  };
  auto summary = job.run();
  BOOST_REQUIRE(summary.has_value());
  auto whole = testing::job{chat_lines(6)};
  BOOST_TEST(whole.run().has_value());
  BOOST_TEST((job.output() == whole.output()));
  for (const auto& [key, runs] : job.judged.runs)
    BOOST_TEST(runs == 2, key);
  BOOST_TEST(std::ranges::any_of(job.progress.notes, [](const auto& note) {
    return note.find("Too many open files") != std::string::npos;
  }));
}

BOOST_AUTO_TEST_CASE(overtaken_row_runs_again_without_shortage) {
  auto job = short_job{6};
  job.options.shortage_wait = std::chrono::milliseconds{0}; // a shortage would stop the job
  job.judged.judge = [](int run) -> std::optional<row_fault> {
    if (run < 20)
      return row_fault{row_fault::kind::overtaken, "another process has just run it"};
    return std::nullopt;
  };
  const auto summary = job.run();
  BOOST_REQUIRE(summary.has_value());
  BOOST_TEST(summary->ok == 6U);
  for (const auto& [key, runs] : job.judged.runs)
    BOOST_TEST(runs == 20, key);
  for (const auto& note : job.progress.notes)
    BOOST_TEST(note.find("lacks resources") == std::string::npos, note);
}

// Otherwise the job would wait forever for rows that were never started.
BOOST_AUTO_TEST_CASE(row_that_failed_to_start_is_started_again) {
  auto job = short_job{6};
  job.judged.judge = [](int run) -> std::optional<row_fault> {
    if (run == 1)
      throw std::bad_alloc{};
    return std::nullopt;
  };
  auto summary = job.run();
  BOOST_REQUIRE(summary.has_value());
  BOOST_TEST(summary->ok == 6U);
}

BOOST_AUTO_TEST_CASE(job_stops_if_no_row_can_be_started) {
  auto job = short_job{6};
  job.judged.judge = [](int) -> std::optional<row_fault> { throw std::bad_alloc{}; };
  job.options.shortage_wait = std::chrono::milliseconds{1};
  const auto stopped = job.run();
  BOOST_REQUIRE(stopped.has_error());
  BOOST_TEST((stopped.error().code == errc::shortage));
}

BOOST_AUTO_TEST_CASE(failed_progress_update_does_not_stop_the_job) {
  auto job = short_job{6};
  job.judged.judge = [](int) { return std::nullopt; };
  job.progress.on_update = [](const batch_progress&) { throw std::bad_alloc{}; };
  const auto summary = job.run();
  BOOST_REQUIRE(summary.has_value());
  BOOST_TEST(summary->ok == 6U);
}

BOOST_AUTO_TEST_CASE(row_limit_counts_a_repeated_row_once) {
  auto job = short_job{6};
  job.options.limit = 2;
  job.judged.judge = [](int run) -> std::optional<row_fault> {
    if (run <= 2)
      return shortage_of("Cannot allocate memory");
    return std::nullopt;
  };
  BOOST_TEST(job.run().value().rows_this_run == 2U);
  BOOST_TEST(job.judged.runs.size() == 2U);
}

BOOST_AUTO_TEST_CASE(lasting_shortage_stops_job_without_failing_rows) {
  auto job = short_job{6};
  job.options.shortage_wait = std::chrono::milliseconds{1};
  job.judged.judge = [](int) { return shortage_of("Too many open files"); };
  auto stopped = job.run();
  BOOST_REQUIRE(!stopped.has_value());
  BOOST_TEST((stopped.error().code == errc::shortage));
  BOOST_TEST(stopped.error().text.find("Too many open files") != std::string::npos);
  BOOST_TEST(job.file("out.jsonl").empty());
  BOOST_TEST(!std::filesystem::exists(job.folder / "out.dead.jsonl"));
  job.judged.judge = [](int) { return std::nullopt; };
  BOOST_TEST(job.run().value().left() == 0U);
  BOOST_TEST(job.output().size() == 6U);
}

BOOST_AUTO_TEST_CASE(storage_fault_stops_the_job_at_once) {
  auto job = short_job{9};
  auto count = 0;
  job.judged.judge = [&](int) -> std::optional<row_fault> {
    if (++count > 3)
      return row_fault{row_fault::kind::broken, "checkpoints: disk full"};
    return std::nullopt;
  };
  auto stopped = job.run();
  BOOST_REQUIRE(!stopped.has_value());
  BOOST_TEST((stopped.error().code == errc::shortage));
  BOOST_TEST(stopped.error().text.find("disk full") != std::string::npos);
  BOOST_TEST(count == 4);
  for (const auto& note : job.progress.notes) // the row does not run again
    BOOST_TEST(note.find("lacks resources") == std::string::npos, note);
  BOOST_TEST(job.output().size() == 3U); // rows that finished before the shortage are kept
  BOOST_TEST(!std::filesystem::exists(job.folder / "out.dead.jsonl"));
  job.judged.judge = [](int) { return std::nullopt; };
  auto summary = job.run();
  BOOST_TEST(summary.value().left() == 0U);
  BOOST_TEST(summary->failed == 1U); // the row whose own error is not a shortage
}

BOOST_AUTO_TEST_CASE(summary_counts_rows_with_failed_tool_calls) {
  class failing_calls final : public row_runner {
  public:
    std::unique_ptr<running_row> submit(row_request request, done_function done) override {
      auto outcome = echo(request);
      outcome.failed_tool_calls = request.key == "row-0" ? 2 : request.key == "row-2" ? 1 : 0;
      done(std::move(outcome));
      return std::make_unique<no_handle>();
    }
  };
  auto job = testing::job{chat_lines(4)};
  auto runner = failing_calls{};
  job.options.limit = 2;
  BOOST_TEST(run_batch(job.options, runner, job.progress, job.stop)->rows_with_failed_calls == 1U);
  job.options.limit.reset();
  auto summary = run_batch(job.options, runner, job.progress, job.stop);
  BOOST_TEST(summary->rows_with_failed_calls == 2U);
  BOOST_TEST(to_text(*summary).find("2 with failed tool calls") != std::string::npos);
  BOOST_TEST(to_json(*summary).at("rows").at("with_failed_tool_calls").as_uint64() == 2U);
}

/// Runs a job in a child process of a user who may not start threads. Needs root.
BOOST_AUTO_TEST_CASE(job_that_cannot_start_threads_returns_an_error) {
  if (::geteuid() != 0)
    return;
  auto job = testing::job{chat_lines(3)};
  const auto input = std::filesystem::path{job.options.input};
  for (const auto& made : {input, input.parent_path()})
    std::filesystem::permissions(made, std::filesystem::perms::all);
  const auto child = ::fork();
  if (child == 0) {
    constexpr auto lonely_user = 54'322U;
    const auto limit = rlimit{1, 1};
    if (::setrlimit(RLIMIT_NPROC, &limit) != 0 || ::setuid(lonely_user) != 0)
      ::_exit(77);
    auto code = 2;
    try {
      const auto ended = job.run();
      code = !ended && ended.error().text.find("ulimit -u") != std::string::npos ? 0 : 1;
    } catch (...) { // run() must return an error, not throw
    }
    ::_exit(code);
  }
  auto status = 0;
  BOOST_REQUIRE(child > 0 && ::waitpid(child, &status, 0) == child);
  BOOST_TEST_REQUIRE(WIFEXITED(status));
  BOOST_TEST((WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) // they reserve address space
BOOST_AUTO_TEST_CASE(line_is_not_invalid_if_memory_is_too_small) {
  constexpr auto mebibyte = std::size_t{1} << 20;
  const auto text = std::string(8 * mebibyte, 'x'); // simdjson needs about ten times this size
  auto job = testing::job{R"({"messages":[{"role":"user","content":")" + text + "\"}]}\n"};
  const auto child = ::fork();
  if (child == 0) {
    auto pages = rlim_t{0};
    std::ifstream{"/proc/self/statm"} >> pages;
    const auto bytes = pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + 48 * mebibyte;
    const auto limit = rlimit{bytes, bytes};
    if (::setrlimit(RLIMIT_AS, &limit) != 0)
      ::_exit(77);
    auto code = 1;
    try {
      static_cast<void>(job.run());
    } catch (const std::bad_alloc&) { // the command line reports a shortage
      code = 0;
    } catch (...) {
    }
    ::_exit(code);
  }
  auto status = 0;
  BOOST_REQUIRE(child > 0 && ::waitpid(child, &status, 0) == child);
  BOOST_TEST_REQUIRE(WIFEXITED(status));
  BOOST_TEST((WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77));
  BOOST_TEST(job.run().value().ok == 1U);
}
#endif

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: Apache-2.0
// Jobs that wait while the quota of the provider's account is exhausted, and the drain of a job.
#include "batch/quota_control.hpp"
#include "job_fixture.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <string_view>
#include <thread>

BOOST_AUTO_TEST_SUITE(quota)

namespace {

using namespace superstep;
using namespace superstep::testing;
using detail::quota_control;
using std::chrono::milliseconds;

/// Ends each row, unless `is_exhausted` returns true for the number of the start.
class quota_runner final : public row_runner {
public:
  std::unique_ptr<running_row> submit(row_request request, done_function done) override {
    auto outcome = echo(request);
    if (is_exhausted(started++))
      outcome.fault.emplace(row_fault{row_fault::kind::quota, "status 429: insufficient_quota"});
    done(std::move(outcome));
    return std::make_unique<no_handle>();
  }
  std::function<bool(int number)> is_exhausted;
  int started = 0;
};

struct quota_job : job {
  explicit quota_job(int rows) : job{lines(rows)} {}
  static std::string lines(int count) {
    auto out = std::string{};
    for (auto i = 0; i < count; ++i)
      out += chat_line("row-" + std::to_string(i), "hi");
    return out;
  }
  result<batch_summary> run() { return run_batch(options, limited, progress, stop); }
  [[nodiscard]] bool has_note(std::string_view part) const {
    return std::ranges::any_of(
        progress.notes, [&](const auto& note) { return note.find(part) != std::string::npos; });
  }
  quota_runner limited;
};

constexpr auto start = quota_control::time_point{};

} // namespace

BOOST_AUTO_TEST_CASE(job_pauses_until_quota_is_available_again) {
  auto job = quota_job{100};
  job.options.rules.quota_wait = milliseconds{4'000}; // pauses of 100 ms to 400 ms
  job.limited.is_exhausted = [](int number) { return number >= 20 && number < 23; };
  auto has_paused = false;
  job.progress.on_update = [&](const batch_progress& now) {
    has_paused = has_paused || now.paused == "quota exhausted";
  };
  const auto summary = job.run();
  BOOST_REQUIRE(summary.has_value());
  BOOST_TEST(static_cast<int>(summary->code) == 0);
  BOOST_TEST(summary->ok == 100U);
  BOOST_TEST(job.limited.started == 103); // a probe per pause, and no retries
  BOOST_TEST(has_paused);
  BOOST_TEST(job.has_note("insufficient_quota"));
  BOOST_TEST(job.has_note("available again"));
  BOOST_TEST(!std::filesystem::exists(job.folder / "out.dead.jsonl"));
}

BOOST_AUTO_TEST_CASE(empty_account_stops_job_at_once) {
  auto job = quota_job{100};
  job.limited.is_exhausted = [](int) { return true; };
  const auto summary = job.run();
  BOOST_REQUIRE(summary.has_value());
  BOOST_TEST(static_cast<int>(summary->code) == 3);
  BOOST_TEST((summary->stop.cause == stop_cause::quota));
  BOOST_TEST(summary->left() == 100U);
  BOOST_TEST(job.limited.started < 100);
  BOOST_TEST(!std::filesystem::exists(job.folder / "out.dead.jsonl"));
  job.limited.is_exhausted = [](int) { return false; };
  BOOST_TEST(job.run().value().ok == 100U);
}

BOOST_AUTO_TEST_CASE(job_stops_when_the_quota_wait_ends) {
  auto job = quota_job{100};
  job.options.rules.quota_wait = milliseconds{300};
  job.limited.is_exhausted = [](int number) { return number >= 20; };
  const auto summary = job.run();
  BOOST_REQUIRE(summary.has_value());
  BOOST_TEST(static_cast<int>(summary->code) == 3);
  BOOST_TEST((summary->stop.cause == stop_cause::quota));
  BOOST_TEST(summary->ok == 20U);
  BOOST_TEST(summary->left() == 80U);
  BOOST_TEST(job.limited.started <= 25);
  BOOST_TEST(summary->stop.text.find("--quota-wait") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(pauses_double_until_a_row_finishes) {
  auto control = quota_control{milliseconds{400'000}}; // first pause: 10 s
  BOOST_TEST(control.may_start(start));
  BOOST_TEST(control.met(start));
  BOOST_TEST(!control.met(start)); // a row that started before the pause
  BOOST_TEST((control.pause(start) == std::chrono::seconds{10}));
  BOOST_TEST(!control.may_start(start + std::chrono::seconds{9}));
  const auto probe = start + std::chrono::seconds{10};
  BOOST_TEST(control.may_start(probe));
  control.started(probe);
  BOOST_TEST(!control.may_start(probe)); // only one probe at a time
  BOOST_TEST(!control.met(probe));
  BOOST_TEST((control.pause(probe) == std::chrono::seconds{20}));
  const auto second = probe + std::chrono::seconds{20};
  control.started(second);
  BOOST_TEST(!control.finished(0, second));
  BOOST_TEST(control.finished(1, second));
  BOOST_TEST(!control.is_active());
  BOOST_TEST(control.met(second)); // a new wait, with a short pause
  BOOST_TEST((control.pause(second) == std::chrono::seconds{10}));
}

BOOST_AUTO_TEST_CASE(probe_that_runs_long_ends_the_pause) {
  auto control = quota_control{milliseconds{400'000}};
  BOOST_TEST(control.met(start));
  const auto probe = start + std::chrono::seconds{10};
  control.started(probe);
  BOOST_TEST(!control.finished(0, probe + std::chrono::seconds{9}));
  BOOST_TEST(control.finished(0, probe + std::chrono::seconds{10}));
  BOOST_TEST(control.may_start(probe + std::chrono::seconds{10}));
}

BOOST_AUTO_TEST_CASE(wait_is_hopeless_after_its_limit) {
  auto control = quota_control{milliseconds{60'000}};
  BOOST_TEST(control.met(start));
  BOOST_TEST(!control.is_hopeless(start + std::chrono::seconds{59}));
  BOOST_TEST(control.is_hopeless(start + std::chrono::seconds{60}));
}

BOOST_AUTO_TEST_CASE(drain_is_announced_and_cut_at_its_timeout) {
  auto job = quota_job{20};
  auto runner = held_runner{};
  runner.on_submit = [&](std::size_t held) {
    if (held == 4)
      job.stop.request();
  };
  job.options.concurrency = 4;
  job.options.rules.drain_timeout = milliseconds{100};
  const auto begun = std::chrono::steady_clock::now();
  const auto summary = run_batch(job.options, runner, job.progress, job.stop);
  const auto took = std::chrono::steady_clock::now() - begun;
  BOOST_REQUIRE(summary.has_value());
  BOOST_TEST(static_cast<int>(summary->code) == 3);
  BOOST_TEST(summary->left() == 20U);
  BOOST_TEST((took >= milliseconds{100}));
  BOOST_TEST((took < milliseconds{10'000}));
  BOOST_TEST(job.has_note("draining: 4 rows in flight, the oldest for "));
  BOOST_TEST(job.has_note("the drain timeout has passed"));
  BOOST_TEST((job.stop.current() == stop_request::drain));
}

BOOST_AUTO_TEST_CASE(drain_without_timeout_waits_for_rows) {
  auto job = quota_job{20};
  auto runner = held_runner{};
  runner.on_submit = [&](std::size_t held) {
    if (held == 4)
      job.stop.request();
  };
  job.options.concurrency = 4;
  auto releaser = std::jthread{[&] {
    while (job.stop.current() == stop_request::none)
      std::this_thread::yield();
    std::this_thread::sleep_for(milliseconds{150});
    runner.release();
  }};
  const auto summary = run_batch(job.options, runner, job.progress, job.stop);
  BOOST_REQUIRE(summary.has_value());
  BOOST_TEST(summary->ok == 4U);
  BOOST_TEST(job.has_note("Ctrl-C cancels them now"));
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: Apache-2.0
// The model limits: how the results of calls change the limit and pause calls. The algorithm itself
// is tested in concurrency_control_test.cpp.
#include <superstep/base/await.hpp>
#include <superstep/models/detail/call_activity.hpp>
#include <superstep/models/provider_model.hpp>

#include <boost/test/unit_test.hpp>

#include <deque>
#include <memory>
#include <optional>
#include <thread>

using namespace superstep;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(model_limits_suite)

namespace {

constexpr auto start = model_limits::time_point{1h};

/// Keeps the limiter full with calls of 10 ms, of which the server accepts `taken` at a time.
void run_calls(model_limits& limits, model_limits::time_point& now, std::size_t taken, int count) {
  struct call {
    limiter::permit permit;
    model_limits::time_point sent;
    bool is_refused;
  };
  auto calls = std::deque<call>{};
  auto accepted = std::size_t{0};
  for (auto i = 0; i < count; ++i) {
    while (auto one = limits.calls().try_acquire()) {
      calls.push_back({std::move(*one), now, accepted >= taken});
      accepted += calls.back().is_refused ? 0 : 1;
    }
    now += std::chrono::nanoseconds{10ms} / calls.size();
    if (calls.front().is_refused)
      limits.overloaded(calls.front().sent, now);
    else
      limits.answered(now);
    accepted -= calls.front().is_refused ? 0 : 1;
    calls.pop_front();
  }
}

} // namespace

BOOST_AUTO_TEST_CASE(refused_calls_lower_the_limit) {
  auto options = model_limits_options{};
  options.model_calls = 64;
  auto limits = model_limits{options};
  auto now = start;
  run_calls(limits, now, 64, 500);
  BOOST_TEST(limits.calls().limit() == 64u);
  run_calls(limits, now, 16, 5'000);
  BOOST_TEST(limits.calls().limit() <= 20u);
  BOOST_TEST(limits.calls().limit() >= 14u);
}

BOOST_AUTO_TEST_CASE(limits_below_one_are_rejected) {
  const auto is_rejected = [](auto change) {
    auto options = model_limits_options{};
    change(options);
    try {
      static_cast<void>(model_limits{options});
    } catch (const std::invalid_argument&) {
      return true;
    }
    return false;
  };
  BOOST_TEST(is_rejected([](auto& o) { o.model_calls = 0; }));
  BOOST_TEST(is_rejected([](auto& o) { o.requests_per_minute = 0; }));
  BOOST_TEST(is_rejected([](auto& o) { o.tokens_per_minute = -1; }));
  BOOST_TEST(is_rejected([](auto& o) { o.answer_bytes = 0; }));
  BOOST_TEST(!is_rejected([](auto& o) {
    o.model_calls.reset();
    o.answer_bytes.reset();
  }));
}

BOOST_AUTO_TEST_CASE(fixed_limit_ignores_refused_calls) {
  auto options = model_limits_options{};
  options.model_calls = 64;
  options.is_adaptive = false;
  auto limits = model_limits{options};
  auto now = start;
  run_calls(limits, now, 4, 5'000);
  BOOST_TEST(limits.calls().limit() == 64u);
}

BOOST_AUTO_TEST_CASE(waiting_calls_are_counted) {
  auto options = model_limits_options{};
  options.model_calls = 1;
  options.activity = std::make_shared<call_activity>();
  const auto limits = model_limits{options};
  auto first = limits.calls().try_acquire();
  BOOST_TEST(options.activity->now().waiting == 0U);
  auto admitted = false;
  auto waiter = std::jthread{[&] {
    const auto admission = sync_wait(limits.admit("row", 1));
    admitted = static_cast<bool>(admission.permit);
  }};
  while (options.activity->now().waiting == 0)
    std::this_thread::yield();
  BOOST_TEST(options.activity->now().waiting == 1U);
  first.reset();
  waiter.join();
  BOOST_TEST(admitted);
  BOOST_TEST(options.activity->now().waiting == 0U);
}

BOOST_AUTO_TEST_CASE(error_of_repeated_calls_is_kept_until_one_succeeds) {
  auto activity = call_activity{};
  auto first = std::make_optional<call_activity::repeated_call>(&activity);
  auto second = std::make_optional<call_activity::repeated_call>(&activity);
  BOOST_TEST(activity.now().repeating == 0U);
  first->failed("status 503");
  first->failed("Connection refused");
  BOOST_TEST(activity.now().repeating == 1U);
  BOOST_TEST(activity.now().retries == 2U);
  second->failed("status 500");
  BOOST_TEST(activity.now().repeating == 2U);
  first.reset(); // cancelled
  BOOST_TEST(activity.now().last_error == "status 500");
  second->succeeded();
  second.reset();
  BOOST_TEST(activity.now().repeating == 0U);
  BOOST_TEST(activity.now().retries == 3U);
  BOOST_TEST(activity.now().last_error.empty());
  first.emplace(&activity);
  first->failed("Connection refused");
  first.reset(); // the error stays, because no call has succeeded since then
  BOOST_TEST(activity.now().last_error == "Connection refused");
}

BOOST_AUTO_TEST_CASE(one_refusal_does_not_pause_other_calls) {
  auto limits = model_limits{model_limits_options{}};
  limits.overloaded(start, start + 10ms, start + 5s);
  BOOST_TEST((limits.rate().paused_until() == model_limits::time_point{}));
}

BOOST_AUTO_TEST_CASE(many_refusals_pause_all_calls) {
  auto limits = model_limits{model_limits_options{}};
  for (auto i = 0; i < 100; ++i)
    limits.overloaded(start, start + 10ms, start + 5s);
  BOOST_TEST((limits.rate().paused_until() == start + 5s));
}

BOOST_AUTO_TEST_CASE(pause_until_pauses_all_calls) {
  auto limits = model_limits{model_limits_options{}};
  limits.pause_until(start + 2s);
  BOOST_TEST((limits.rate().paused_until() == start + 2s));
}

BOOST_AUTO_TEST_SUITE_END()

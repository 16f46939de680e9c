// SPDX-License-Identifier: Apache-2.0
// The concurrency limiter and the rate limiter: order of waiters, changed limits, rates and pauses.
#include "support/manual_executor.hpp"

#include <superstep/base/detail/limiter.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <optional>
#include <thread>
#include <vector>

using namespace superstep;
using namespace std::chrono_literals;
using superstep::test::manual_executor;

BOOST_AUTO_TEST_SUITE(limiter_suite)

namespace {

/// Enters, records its number, and stays inside while the test keeps the permit.
task<void> enter(limiter into, std::vector<int>& order, int who, limiter::permit& kept) {
  auto permit = co_await into.acquire();
  order.push_back(who);
  kept = std::move(permit);
}

task<void> go_out(rate_limiter through, std::int64_t tokens, std::vector<int>& order, int who) {
  co_await through.reserve(tokens);
  order.push_back(who);
}

} // namespace

BOOST_AUTO_TEST_CASE(waiters_get_permits_in_order_of_arrival) {
  auto run = manual_executor{};
  const auto one_at_a_time = limiter{1};
  auto order = std::vector<int>{};
  auto kept = std::vector<limiter::permit>(4);
  auto calls = std::vector<task<void>>{};
  for (auto i = 0; i < 4; ++i) {
    calls.push_back(enter(one_at_a_time, order, i, kept[static_cast<std::size_t>(i)]));
    run.start(calls.back());
  }
  BOOST_TEST(order == std::vector<int>{0}, boost::test_tools::per_element());
  BOOST_TEST(one_at_a_time.waiting() == 3u);
  for (auto& permit : kept) {
    permit.release();
    run.run_ready();
  }
  BOOST_TEST(order == (std::vector<int>{0, 1, 2, 3}), boost::test_tools::per_element());
  BOOST_TEST(one_at_a_time.in_flight() == 0u);
  BOOST_TEST(one_at_a_time.in_flight_max() == 1u);
}

BOOST_AUTO_TEST_CASE(destroyed_waiter_leaves_queue) {
  auto run = manual_executor{};
  const auto one_at_a_time = limiter{1};
  auto order = std::vector<int>{};
  auto kept = std::vector<limiter::permit>(3);
  auto first = enter(one_at_a_time, order, 0, kept[0]);
  auto second = enter(one_at_a_time, order, 1, kept[1]);
  auto third = enter(one_at_a_time, order, 2, kept[2]);
  run.start(first);
  run.start(second);
  run.start(third);
  second = task<void>{};
  BOOST_TEST(one_at_a_time.waiting() == 1u);
  kept[0].release();
  run.run_ready();
  BOOST_TEST(order == (std::vector<int>{0, 2}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(permit_of_destroyed_waiter_passes_to_next_waiter) {
  auto run = manual_executor{};
  const auto one_at_a_time = limiter{1};
  auto order = std::vector<int>{};
  auto kept = std::vector<limiter::permit>(3);
  auto first = enter(one_at_a_time, order, 0, kept[0]);
  auto second = enter(one_at_a_time, order, 1, kept[1]);
  auto third = enter(one_at_a_time, order, 2, kept[2]);
  run.start(first);
  run.start(second);
  run.start(third);
  kept[0].release(); // now belongs to the second coroutine, not yet resumed
  second = task<void>{};
  run.run_ready();
  BOOST_TEST(order == (std::vector<int>{0, 2}), boost::test_tools::per_element());
  BOOST_TEST(one_at_a_time.in_flight() == 1u);
}

BOOST_AUTO_TEST_CASE(changed_limit_applies_to_waiters_and_held_permits) {
  auto run = manual_executor{};
  const auto some = limiter{1};
  auto order = std::vector<int>{};
  auto kept = std::vector<limiter::permit>(4);
  auto calls = std::vector<task<void>>{};
  for (auto i = 0; i < 4; ++i) {
    calls.push_back(enter(some, order, i, kept[static_cast<std::size_t>(i)]));
    run.start(calls.back());
  }
  some.set_limit(3);
  run.run_ready();
  BOOST_TEST(order.size() == 3u);
  some.set_limit(1);
  kept[0].release();
  kept[1].release();
  run.run_ready();
  BOOST_TEST(order.size() == 3u); // one is still inside
  kept[2].release();
  run.run_ready();
  BOOST_TEST(order.size() == 4u);
}

BOOST_AUTO_TEST_CASE(limit_of_zero_admits_every_request) {
  const auto open = limiter{0};
  auto permits = std::vector<std::optional<limiter::permit>>{};
  for (auto i = 0; i < 1000; ++i)
    permits.push_back(open.try_acquire());
  BOOST_TEST(open.in_flight() == 1000u);
}

BOOST_AUTO_TEST_CASE(concurrent_threads_never_exceed_the_limit) {
  const auto few = limiter{3};
  auto inside = std::atomic<int>{0};
  auto too_many = std::atomic<bool>{false}; // Boost.Test's macros are not thread-safe
  auto threads = std::vector<std::jthread>{};
  for (auto t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (auto i = 0; i < 2000; ++i)
        if (auto permit = few.try_acquire()) {
          if (inside.fetch_add(1) >= 3)
            too_many = true;
          inside.fetch_sub(1);
        }
    });
  threads.clear();
  BOOST_TEST(!too_many.load());
  BOOST_TEST(few.in_flight() == 0u);
  BOOST_TEST(few.in_flight_max() <= 3u);
}

BOOST_AUTO_TEST_CASE(requests_start_at_configured_rate) {
  auto run = manual_executor{};
  const auto per_second = rate_limiter{rate_limits{60, 0, 1s}};
  auto order = std::vector<int>{};
  auto calls = std::vector<task<void>>{};
  for (auto i = 0; i < 4; ++i) {
    calls.push_back(go_out(per_second, 0, order, i));
    run.start(calls.back());
  }
  BOOST_TEST(order.size() == 1u);
  run.advance(1001ms);
  BOOST_TEST(order.size() == 2u);
  run.advance(2002ms);
  BOOST_TEST(order == (std::vector<int>{0, 1, 2, 3}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(requests_per_minute_stay_within_limit_plus_burst) {
  const auto limited = rate_limiter{rate_limits{120, 0, 1s}};
  const auto begin = executor::time_point{1h};
  auto sent = 0;
  for (auto now = begin; now < begin + 60s; now += 1ms)
    while (limited.try_reserve(1, now) == now)
      ++sent;
  BOOST_TEST(sent >= 119);
  BOOST_TEST(sent <= 122);
}

BOOST_AUTO_TEST_CASE(settle_returns_unused_tokens_and_charges_excess_tokens) {
  const auto limited = rate_limiter{rate_limits{0, 6000, 60s}}; // 100 per second, 6,000 in reserve
  const auto now = executor::time_point{1h};
  BOOST_TEST((limited.try_reserve(6000, now) == now));
  BOOST_TEST((limited.try_reserve(1000, now) > now + 9s));
  limited.settle(6000, 1000);
  BOOST_TEST((limited.try_reserve(1000, now) == now));
  limited.settle(1000, 8000); // 3,000 below zero
  BOOST_TEST((limited.try_reserve(100, now) >= now + 31s));
}

BOOST_AUTO_TEST_CASE(request_larger_than_bucket_waits_for_full_bucket) {
  const auto limited = rate_limiter{rate_limits{0, 6000, 1s}};
  const auto now = executor::time_point{1h};
  BOOST_TEST((limited.try_reserve(5000, now) == now));
  const auto again = limited.try_reserve(5000, now);
  BOOST_TEST((again > now + 49s && again < now + 51s));
}

BOOST_AUTO_TEST_CASE(pause_delays_requests_that_already_wait) {
  auto run = manual_executor{};
  const auto open = rate_limiter{rate_limits{600, 0, 100ms}};
  auto order = std::vector<int>{};
  auto first = go_out(open, 0, order, 0);
  auto second = go_out(open, 0, order, 1);
  run.start(first);
  run.start(second);
  open.pause_until(run.now() + 5s);
  open.pause_until(run.now() + 1s); // the longer pause applies
  run.advance(4999ms);
  BOOST_TEST(order.size() == 1u);
  run.advance(2ms);
  BOOST_TEST(order.size() == 2u);
}

BOOST_AUTO_TEST_CASE(destroyed_first_waiter_does_not_block_the_queue) {
  auto run = manual_executor{};
  const auto open = rate_limiter{rate_limits{}};
  open.pause_until(run.now() + 1s);
  auto order = std::vector<int>{};
  auto first = go_out(open, 0, order, 0);
  auto second = go_out(open, 0, order, 1);
  run.start(first);
  run.start(second);
  first = task<void>{};
  run.advance(1500ms);
  BOOST_TEST(order == std::vector<int>{1}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

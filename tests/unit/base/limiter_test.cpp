// SPDX-License-Identifier: Apache-2.0
// The concurrency limiter: order of waiters and changed limits.
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

BOOST_AUTO_TEST_SUITE_END()

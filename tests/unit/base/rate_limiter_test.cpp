// SPDX-License-Identifier: Apache-2.0
// The rate limiter: limits in every sliding minute, corrections, pauses, limits that servers
// report, and the order of waiting runs.
#include "support/manual_executor.hpp"

#include <superstep/base/await.hpp>
#include <superstep/base/detail/fair_line.hpp>
#include <superstep/base/detail/rate_limiter.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <random>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

using namespace superstep;
using namespace std::chrono_literals;
using superstep::test::manual_executor;

BOOST_AUTO_TEST_SUITE(rate_limiter_suite)

namespace {

using time_point = rate_limiter::time_point;
constexpr auto start = time_point{1h};

task<void> go_out(rate_limiter through, std::int64_t tokens, std::vector<int>& order, int who) {
  auto reserving = through.reserve(tokens);
  co_await reserving;
  order.push_back(who);
}

/// An event that counts against a limit.
struct use {
  time_point when;
  std::int64_t amount;
};

/// Returns the smallest and the largest sum over sliding minutes that lie inside of the events.
std::pair<std::int64_t, std::int64_t> sums_of_minutes(const std::vector<use>& uses) {
  auto least = std::int64_t{1} << 60;
  auto most = std::int64_t{0};
  auto sum = std::int64_t{0};
  auto first = std::size_t{0};
  for (const auto& one : uses) {
    sum += one.amount;
    while (uses[first].when + 60s <= one.when) {
      sum -= uses[first].amount;
      ++first;
      least = std::min(least, sum);
    }
    most = std::max(most, sum);
  }
  return {least, most};
}

struct load {
  std::int64_t rpm;
  std::int64_t tpm;
  std::int64_t tokens; ///< average of a request; the real number differs by up to half
};
std::ostream& operator<<(std::ostream& out, const load& one) {
  return out << one.rpm << " rpm, " << one.tpm << " tpm, " << one.tokens << " tokens";
}
const auto loads = std::vector<load>{
    {60, 0, 1},        {500, 0, 1},        {10'000, 0, 1},          {0, 60'000, 100},
    {0, 200'000, 500}, {600, 90'000, 100}, {30'000, 2'000'000, 500}};

} // namespace

BOOST_DATA_TEST_CASE(limit_holds_in_every_sliding_minute, boost::unit_test::data::make(loads),
                     one) {
  const auto limited = rate_limiter{{.requests_per_minute = one.rpm, .tokens_per_minute = one.tpm}};
  struct call {
    time_point sent;
    time_point ends;
    std::int64_t reserved;
    std::int64_t used;
  };
  auto random = std::mt19937_64{7};
  auto calls = std::deque<call>{};
  auto requests = std::vector<use>{};
  auto tokens = std::vector<use>{};
  auto now = start;
  while (now < start + 4min) {
    while (!calls.empty() && calls.front().ends <= now) {
      limited.settle(calls.front().sent, calls.front().reserved, calls.front().used);
      calls.pop_front();
    }
    // The reservation is at least the real use, as with max_tokens.
    const auto reserved = one.tokens + one.tokens / 2;
    const auto when = limited.try_reserve(reserved, now);
    if (when > now) {
      now = calls.empty() ? when : std::min(when, std::max(calls.front().ends, now + 1ms));
      continue;
    }
    const auto used = one.tokens / 2 + static_cast<std::int64_t>(random() % (one.tokens + 1));
    calls.push_back({now, now + 2s, reserved, used});
    requests.push_back({now, 1});
    tokens.push_back({now, used});
  }
  const auto of_requests = sums_of_minutes(requests);
  const auto of_tokens = sums_of_minutes(tokens);
  if (one.rpm > 0)
    BOOST_TEST(of_requests.second <= one.rpm);
  if (one.tpm > 0)
    BOOST_TEST(of_tokens.second <= one.tpm);
  const auto share = [](std::int64_t used, std::int64_t limit) {
    return limit > 0 ? static_cast<double>(used) / static_cast<double>(limit) : 0.0;
  };
  BOOST_TEST(std::max(share(of_requests.first, one.rpm), share(of_tokens.first, one.tpm)) >= 0.95);
}

BOOST_AUTO_TEST_CASE(requests_start_at_configured_rate) {
  auto run = manual_executor{};
  const auto per_second = rate_limiter{{.requests_per_minute = 60}};
  auto order = std::vector<int>{};
  auto calls = std::vector<task<void>>{};
  for (auto i = 0; i < 4; ++i) {
    calls.push_back(go_out(per_second, 0, order, i));
    run.start(calls.back());
  }
  BOOST_TEST(order.size() == 1u);
  run.advance(1020ms);
  BOOST_TEST(order.size() == 2u);
  run.advance(2040ms);
  BOOST_TEST(order == (std::vector<int>{0, 1, 2, 3}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(settle_returns_unused_tokens_and_charges_excess_tokens) {
  const auto limited = rate_limiter{{.tokens_per_minute = 6'000, .burst = 60s}};
  BOOST_TEST((limited.try_reserve(6'000, start) == start));
  BOOST_TEST((limited.try_reserve(1'000, start) > start + 60s));
  limited.settle(start, 6'000, 1'000);
  BOOST_TEST((limited.try_reserve(1'000, start) == start));
  limited.settle(start, 1'000, 8'000); // the limit is exceeded by 3,000
  BOOST_TEST((limited.try_reserve(100, start + 59s) >= start + 60s));
  BOOST_TEST((limited.try_reserve(100, start + 100s) == start + 100s));
}

BOOST_AUTO_TEST_CASE(cancelled_reservation_does_not_count) {
  const auto limited = rate_limiter{{.requests_per_minute = 1, .tokens_per_minute = 100}};
  BOOST_TEST((limited.try_reserve(100, start) == start));
  BOOST_TEST((limited.try_reserve(100, start) > start + 60s));
  limited.cancel(start, 100);
  BOOST_TEST((limited.try_reserve(100, start + 1s) == start + 1s));
}

BOOST_AUTO_TEST_CASE(settled_tokens_wake_first_waiter_at_once) {
  auto run = manual_executor{};
  const auto limited = rate_limiter{{.tokens_per_minute = 6'000, .burst = 60s}};
  const auto sent = run.now();
  BOOST_TEST((limited.try_reserve(6'000, sent) == sent));
  auto order = std::vector<int>{};
  auto calls = std::vector<task<void>>{};
  for (auto i = 0; i < 2; ++i) {
    calls.push_back(go_out(limited, 500, order, i));
    run.start(calls.back());
  }
  limited.settle(sent, 6'000, 5'000);
  run.run_ready();
  BOOST_TEST(order == std::vector<int>{0}, boost::test_tools::per_element());
  limited.cancel(sent, 5'000);
  run.run_ready();
  BOOST_TEST(order.size() == 2u);
}

BOOST_AUTO_TEST_CASE(first_waiter_is_estimated_again_after_settling) {
  auto run = manual_executor{};
  const auto limited = rate_limiter{{.tokens_per_minute = 6'000}};
  BOOST_TEST((limited.try_reserve(1'000, run.now()) == run.now()));
  auto expected = std::int64_t{1'000};
  auto waiting = limited.reserve([&expected] { return expected; });
  run.start(waiting);
  run.advance(5s);
  BOOST_TEST(!waiting.done());
  expected = 20;
  limited.settle(start, 1'000, 20);
  run.run_ready();
  BOOST_REQUIRE(waiting.done());
  const auto reserved = waiting.take();
  BOOST_TEST(reserved.tokens == 20);
  BOOST_TEST((reserved.at == start + 5s));
}

BOOST_AUTO_TEST_CASE(request_larger_than_limit_waits_for_empty_minute) {
  const auto limited = rate_limiter{{.tokens_per_minute = 6'000}};
  BOOST_TEST((limited.try_reserve(100, start) == start));
  const auto when = limited.try_reserve(9'000, start);
  BOOST_TEST((when > start + 60s && when < start + 62s));
  BOOST_TEST((limited.try_reserve(9'000, when) == when));
}

BOOST_AUTO_TEST_CASE(limits_reported_by_server_apply) {
  const auto limited = rate_limiter{rate_limits{}};
  BOOST_TEST(!limited.has_limit());
  BOOST_TEST((limited.try_reserve(0, start) == start));
  limited.observe(server_rate{60, 59, 1s}, {}, start, start + 10ms);
  BOOST_TEST(limited.has_limit());
  auto sent = 0;
  for (auto now = start + 10ms; now < start + 59s; now += 10ms)
    sent += limited.try_reserve(0, now) == now ? 1 : 0;
  BOOST_TEST(sent <= 59);
  BOOST_TEST(sent >= 55);
}

BOOST_AUTO_TEST_CASE(reported_limits_do_not_raise_configured_ones) {
  const auto limited = rate_limiter{{.requests_per_minute = 1}};
  limited.observe(server_rate{600, 599, 100ms}, {}, start, start);
  BOOST_TEST((limited.try_reserve(0, start) == start));
  BOOST_TEST((limited.try_reserve(0, start + 30s) > start + 60s));
}

BOOST_AUTO_TEST_CASE(limits_per_day_are_ignored) {
  const auto limited = rate_limiter{rate_limits{}};
  limited.observe(server_rate{200, 199, 432s}, {}, start, start); // 200 a day
  BOOST_TEST(!limited.has_limit());
}

BOOST_AUTO_TEST_CASE(limits_per_minute_are_recognised) {
  const auto limited = rate_limiter{rate_limits{}};
  BOOST_TEST(limited.is_per_minute({60, 0, 60s}));
  BOOST_TEST(limited.is_per_minute({60, 30, 30s}));
  BOOST_TEST(!limited.is_per_minute({60, 0, 1s}));
  BOOST_TEST(!limited.is_per_minute({60, 60, 0s}));
  BOOST_TEST(!limited.is_per_minute({60, 0, 24h}));
}

BOOST_AUTO_TEST_CASE(requests_of_other_processes_count) {
  const auto limited = rate_limiter{{.requests_per_minute = 100, .burst = 60s}};
  BOOST_TEST((limited.try_reserve(0, start) == start));
  limited.observe(server_rate{100, 10, 54s}, {}, start, start); // others have used 89
  auto sent = 0;
  for (auto i = 0; i < 100; ++i)
    sent += limited.try_reserve(0, start) == start ? 1 : 0;
  BOOST_TEST(sent == 10);
  BOOST_TEST((limited.try_reserve(0, start + 55s) == start + 55s));
}

BOOST_AUTO_TEST_CASE(pause_delays_requests_that_already_wait) {
  auto run = manual_executor{};
  const auto open = rate_limiter{{.requests_per_minute = 600, .burst = 100ms}};
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

BOOST_AUTO_TEST_CASE(strictest_limits_of_several_users_apply) {
  const auto shared = rate_limiter{{.requests_per_minute = 100}};
  shared.restrict_to({.requests_per_minute = 1, .tokens_per_minute = 50});
  shared.restrict_to({.requests_per_minute = 500});
  BOOST_TEST(shared.limits_tokens());
  BOOST_TEST((shared.try_reserve(1, start) == start));
  BOOST_TEST((shared.try_reserve(1, start + 30s) > start + 60s));
}

namespace {

task<void> take_turn(fair_line line, std::string run, std::vector<std::string>& order,
                     std::vector<fair_line::turn>& held) {
  auto entering = line.enter(run);
  auto turn = co_await entering;
  order.push_back(run);
  held.push_back(std::move(turn));
}

} // namespace

BOOST_AUTO_TEST_CASE(turns_follow_start_of_runs_and_alternate) {
  auto run = manual_executor{};
  const auto line = fair_line{};
  auto order = std::vector<std::string>{};
  auto held = std::vector<fair_line::turn>{};
  auto tasks = std::deque<task<void>>{};
  const auto enter = [&](const char* name) {
    tasks.push_back(take_turn(line, name, order, held));
    run.start(tasks.back());
  };
  const auto next = [&] {
    held.erase(held.begin());
    run.run_ready();
  };
  enter("a"); // takes the place
  for (const auto* name : {"b", "b", "b", "c", "d", "c", "a"})
    enter(name);
  for (auto i = 0; i < 7; ++i)
    next();
  BOOST_TEST(order == (std::vector<std::string>{"a", "b", "c", "d", "a", "b", "c", "b"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(destroyed_waiter_leaves_the_fair_line) {
  auto run = manual_executor{};
  const auto line = fair_line{1}; // remembers one run besides those that wait
  auto order = std::vector<std::string>{};
  auto held = std::vector<fair_line::turn>{};
  auto tasks = std::deque<task<void>>{};
  for (const auto* name : {"a", "b", "c"}) {
    tasks.push_back(take_turn(line, name, order, held));
    run.start(tasks.back());
  }
  BOOST_TEST(line.waiting() == 2u);
  tasks[1] = task<void>{};
  BOOST_TEST(line.waiting() == 1u);
  held.clear();
  run.run_ready();
  BOOST_TEST(order == (std::vector<std::string>{"a", "c"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(newcomer_does_not_pass_waiters_of_the_fair_line) {
  for (auto i = 0; i < 2'000; ++i) {
    auto run = manual_executor{};
    const auto line = fair_line{};
    auto order = std::vector<std::string>{};
    auto held = std::vector<fair_line::turn>{};
    auto first = take_turn(line, "a", order, held);
    run.start(first);
    auto second = take_turn(line, "b", order, held);
    run.start(second);
    auto has_started = std::atomic<bool>{false};
    auto has_entered = false;
    auto newcomer = std::jthread{[&](const std::stop_token& stop) {
      has_started = true;
      while (!has_entered && !stop.stop_requested())
        has_entered = line.try_enter("c").has_value();
    }};
    while (!has_started)
      std::this_thread::yield();
    held.clear(); // the place passes to the second coroutine
    run.run_ready();
    newcomer.request_stop();
    newcomer.join();
    BOOST_TEST_REQUIRE(!has_entered);
  }
}

BOOST_AUTO_TEST_SUITE_END()

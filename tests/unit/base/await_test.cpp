// SPDX-License-Identifier: Apache-2.0
// Coroutines without an engine: tasks, callbacks from other threads, when_all, and cancellation.
#include "base/awaited_ref.hpp"
#include "base/thread_clock.hpp"

#include <superstep/base/await.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace ss = superstep;

BOOST_AUTO_TEST_SUITE(coroutines)

namespace {

ss::task<int> number(int n) {
  co_return n;
}

ss::task<int> sum(int a, int b) {
  const auto left = co_await number(a);
  const auto right = co_await number(b);
  co_return left + right;
}

ss::task<int> failing() {
  throw std::runtime_error{"broken"};
  co_return 0;
}

ss::task<int> from_thread(std::thread& worker) {
  co_return co_await ss::await_callback<int>([&worker](ss::completer<int> done) {
    worker = std::thread{[done = std::move(done)] { done(7); }};
  });
}

} // namespace

BOOST_AUTO_TEST_CASE(co_await_returns_result_of_child_task) {
  BOOST_TEST(ss::sync_wait(sum(3, 4)) == 7);
}

BOOST_AUTO_TEST_CASE(sync_wait_throws_exception_of_task) {
  BOOST_CHECK_THROW(ss::sync_wait(failing()), std::runtime_error);
}

BOOST_AUTO_TEST_CASE(awaited_ref_refers_to_result_of_task) {
  const auto text = std::string(100, 'x'); // larger than what a string stores itself
  const auto body = [&text]() -> ss::task<bool> {
    auto asking = ss::ready(text);
    auto ended = ss::detail::awaited_ref{asking};
    auto& given = co_await ended;
    const auto* const bytes = given.data();
    const auto taken = std::move(given);
    co_return taken == text&& taken.data() == bytes;
  };
  BOOST_TEST(ss::sync_wait(body()));
}

BOOST_AUTO_TEST_CASE(awaited_ref_throws_exception_of_task) {
  const auto body = []() -> ss::task<int> {
    auto asking = failing();
    auto ended = ss::detail::awaited_ref{asking};
    co_return co_await ended;
  };
  BOOST_CHECK_THROW(ss::sync_wait(body()), std::runtime_error);
}

BOOST_AUTO_TEST_CASE(callback_on_another_thread_resumes_coroutine) {
  auto worker = std::thread{};
  BOOST_TEST(ss::sync_wait(from_thread(worker)) == 7);
  worker.join();
}

BOOST_AUTO_TEST_CASE(coroutine_continues_if_callback_completes_while_it_starts) {
  auto where = ss::detail::make_thread_executor();
  auto at = ss::execution_context{where.get(), nullptr};
  const auto body = [](bool on_other_thread) -> ss::task<int> {
    co_return co_await ss::await_callback<int>([on_other_thread](ss::completer<int> done) {
      if (on_other_thread)
        std::thread{[&done] { done(7); }}.join();
      else
        done(7);
    });
  };
  for (const auto on_other_thread : {false, true}) {
    auto running = body(on_other_thread);
    running.start_in(at);
    running.handle().resume();
    BOOST_TEST(running.done());
  }
}

// It may hold the last reference to what cancels the operation.
BOOST_AUTO_TEST_CASE(start_of_operation_is_released_while_coroutine_is_suspended) {
  auto held = std::make_shared<int>(1);
  auto kept = std::optional<ss::completer<int>>{};
  const auto body = [](std::shared_ptr<int> what, auto* keep) -> ss::task<int> {
    // A variable: g++ 12 destroys captures twice if they are moved into an argument of co_await.
    auto start = [what = std::move(what), keep](ss::completer<int> done) { keep->emplace(done); };
    co_return co_await ss::await_callback<int>(std::move(start));
  };
  auto where = ss::detail::make_thread_executor();
  auto at = ss::execution_context{where.get(), nullptr};
  auto waiting = body(held, &kept);
  waiting.start_in(at);
  waiting.handle().resume();
  BOOST_TEST(!waiting.done());
  BOOST_TEST(held.use_count() == 1);
}

BOOST_AUTO_TEST_CASE(second_completion_of_callback_is_ignored) {
  const auto body = []() -> ss::task<int> {
    co_return co_await ss::await_callback<int>([](ss::completer<int> done) {
      done(1);
      done(2);
    });
  };
  BOOST_TEST(ss::sync_wait(body()) == 1);
}

BOOST_AUTO_TEST_CASE(destroyed_coroutine_calls_its_on_abandon_handlers) {
  auto told = 0;
  auto kept = std::optional<ss::completer<int>>{};
  {
    const auto body = [](auto* keep, int* count) -> ss::task<int> {
      co_return co_await ss::await_callback<int>([keep, count](ss::completer<int> done) {
        done.on_abandon([count] { ++*count; });
        *keep = done;
      });
    };
    auto where = ss::detail::make_thread_executor();
    auto at = ss::execution_context{where.get(), nullptr};
    auto waiting = body(&kept, &told);
    waiting.start_in(at);
    waiting.handle().resume();
    BOOST_TEST(!waiting.done());
  }
  BOOST_TEST(told == 1);
  BOOST_TEST(kept->abandoned());
  (*kept)(5); // arrives too late and has no effect
  auto late = 0;
  kept->on_abandon([&late] { ++late; });
  BOOST_TEST(late == 1);
}

BOOST_AUTO_TEST_CASE(when_all_returns_results_and_exceptions_in_order) {
  const auto body = []() -> ss::task<std::vector<ss::settled<int>>> {
    auto calls = std::vector<ss::task<int>>{};
    calls.push_back(number(1));
    calls.push_back(failing());
    calls.push_back(number(3));
    co_return co_await ss::when_all(std::move(calls));
  };
  const auto all = ss::sync_wait(body());
  BOOST_TEST_REQUIRE(all.size() == 3U);
  BOOST_TEST(*all[0].value == 1);
  BOOST_TEST(!all[1].value.has_value());
  BOOST_TEST((all[1].failure != nullptr));
  BOOST_TEST(*all[2].value == 3);
}

BOOST_AUTO_TEST_CASE(when_all_without_tasks_returns_empty_list) {
  const auto body = []() -> ss::task<std::size_t> {
    auto all = co_await ss::when_all(std::vector<ss::task<int>>{});
    co_return all.size();
  };
  BOOST_TEST(ss::sync_wait(body()) == 0U);
}

/// Returns the CPU time for this number of calls that each wait once.
std::chrono::nanoseconds time_of_calls(int count) {
  const auto body = [count]() -> ss::task<int> {
    auto calls = std::vector<ss::task<int>>{};
    for (auto i = 0; i < count; ++i)
      calls.push_back([](int n) -> ss::task<int> {
        auto rest = ss::sleep_for{std::chrono::nanoseconds{0}};
        co_await rest;
        co_return n;
      }(i));
    auto sum = 0;
    for (const auto& each : co_await ss::when_all(std::move(calls)))
      sum += *each.value;
    co_return sum;
  };
  const auto clock = ss::thread_clock::of_this_thread();
  const auto begin = *clock.used();
  BOOST_TEST(ss::sync_wait(body()) == count * (count - 1) / 2);
  return *clock.used() - begin;
}

BOOST_AUTO_TEST_CASE(when_all_needs_linear_time) {
  auto few = std::chrono::nanoseconds::max();
  auto many = std::chrono::nanoseconds::max();
  for (auto round = 0; round < 3; ++round) {
    few = std::min(few, time_of_calls(2'000));
    many = std::min(many, time_of_calls(32'000));
  }
  // 16 times as many calls: quadratic time would be 256 times as much
  BOOST_TEST(many.count() < 80 * few.count());
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: Apache-2.0
// Retries of bodies in place and of coroutines, and their effect on siblings.
#include "graphs.hpp"

#include <superstep/checkpoint/memory_checkpointer.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <latch>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

using namespace testing;

BOOST_AUTO_TEST_SUITE(retry)

namespace {

/// Returns options that retry every failure after a short wait.
ss::node_options quick(std::uint32_t attempts, std::chrono::milliseconds wait = {}) {
  auto policy = ss::retry_policy{};
  policy.max_attempts = attempts;
  policy.initial_interval = wait;
  policy.jitter = false;
  policy.retry_on = [](const std::exception_ptr&) { return true; };
  auto options = ss::node_options{};
  options.retry = {policy};
  return options;
}

} // namespace

BOOST_AUTO_TEST_CASE(retried_node_receives_its_attempt_number) {
  auto e = ss::engine{{.workers = 1}};
  auto g = ss::graph<numbers>{};
  g.add(
      a,
      [](const numbers&, const ss::runtime& rt) {
        if (rt.attempt() < 3)
          throw std::runtime_error{"not yet"};
        return ss::update{ss::set<&numbers::n>(static_cast<int>(rt.attempt()))};
      },
      quick(5, std::chrono::milliseconds{1}));
  g.edge(ss::start, a);
  BOOST_TEST(e.invoke(g.compile(), numbers{}).state.n == 3);
}

BOOST_AUTO_TEST_CASE(run_error_has_last_exception_and_attempt_count) {
  auto e = ss::engine{{.workers = 1}};
  auto g = ss::graph<numbers>{};
  g.add(
      a, [](const numbers&) -> ss::update<numbers> { throw std::runtime_error{"never"}; },
      quick(4));
  g.edge(ss::start, a);
  const auto graph = g.compile();
  const auto fails_after_four = [](const ss::graph_error& error) {
    return error.details().attempts == 4U &&
           error.details().text.find("never") != std::string::npos;
  };
  BOOST_CHECK_EXCEPTION(e.invoke(graph, numbers{}), ss::graph_error, fails_after_four);
}

BOOST_AUTO_TEST_CASE(failed_sends_are_retried_while_siblings_continue) {
  auto e = ss::engine{{.workers = 2}};
  auto failures = std::atomic<int>{0};
  auto g = ss::graph<numbers>{};
  g.add(
      worker,
      [&failures](const int& number, ss::runtime rt) -> ss::task<ss::update<numbers>> {
        co_await ss::sleep_for{std::chrono::microseconds{50}};
        if (number % 10 == 3 && rt.attempt() == 1) {
          ++failures;
          throw std::runtime_error{"once"};
        }
        co_return ss::update{ss::set<&numbers::seen>({number})};
      },
      quick(2, std::chrono::milliseconds{2}));
  g.branch(ss::start, fan_out);
  const auto out = e.invoke(g.compile(), numbers{.n = 200, .total = 0, .seen = {}}).state;
  BOOST_TEST(failures == 20);
  BOOST_TEST_REQUIRE(out.seen.size() == 200U);
  for (auto i = 0; i < 200; ++i)
    BOOST_TEST_REQUIRE(out.seen[static_cast<std::size_t>(i)] == i);
}

BOOST_AUTO_TEST_CASE(deadline_ends_run_that_waits_for_retry) {
  auto e = ss::engine{{.workers = 1}};
  auto g = ss::graph<numbers>{};
  g.add(
      a, [](const numbers&) -> ss::update<numbers> { throw std::runtime_error{"again"}; },
      quick(100, std::chrono::milliseconds{20}));
  g.edge(ss::start, a);
  auto config = ss::run_config{};
  config.deadline = std::chrono::milliseconds{5};
  const auto graph = g.compile();
  for (auto i = 0; i < 20; ++i)
    BOOST_CHECK_EXCEPTION(
        e.invoke(graph, numbers{}, config), ss::graph_error,
        [](const auto& error) { return error.code() == ss::graph_errc::deadline; });
}

BOOST_AUTO_TEST_CASE(remaining_tasks_of_step_start_despite_a_failure) {
  auto e = ss::engine{{.workers = 1}};
  auto started = 0; // one lane: bodies run one after the other
  auto g = ss::graph<numbers>{};
  g.add(a, [](const numbers&) -> ss::update<numbers> { throw std::runtime_error{"first"}; });
  g.add(b, [&started](const numbers&) { ++started; });
  g.edge(ss::start, a).edge(ss::start, b);
  const auto graph = g.compile();
  BOOST_CHECK_THROW(e.invoke(graph, numbers{}), ss::graph_error);
  BOOST_TEST(started == 1);
}

BOOST_AUTO_TEST_CASE(failed_run_with_max_concurrency_does_not_wait_for_an_attempt) {
  auto e = ss::engine{{.workers = 1}};
  auto g = ss::graph<numbers>{};
  auto others = std::atomic<int>{0};
  g.add(a, [&](const numbers&) -> ss::task<ss::update<numbers>> {
    while (others == 0) {
      auto rest = ss::sleep_for{std::chrono::milliseconds{1}};
      co_await rest;
    }
    throw std::runtime_error{"a failed"};
  });
  g.add(
      b,
      [&](const numbers&) -> ss::update<numbers> {
        ++others;
        throw std::runtime_error{"b failed"};
      },
      quick(2, std::chrono::hours{1}));
  g.edge(ss::start, a).edge(ss::start, b);
  auto options = ss::compile_options{};
  options.checkpointer = ss::memory_checkpointer();
  const auto graph = g.compile(std::move(options));
  auto config = ss::run_config{};
  config.thread_id = "t";
  config.max_concurrency = 2;
  const auto result = e.try_invoke(graph, numbers{}, config);
  BOOST_TEST_REQUIRE(result.error.has_value());
  BOOST_TEST(result.error->text.find("a failed") != std::string::npos);
  BOOST_TEST(others.load() == 1);
}

// The attempt lists the run as ready while its turn still lasts, and the turn may end with a move.
BOOST_AUTO_TEST_CASE(runs_whose_tasks_are_retried_at_once_can_move) {
  auto stops = std::atomic<bool>{false};
  auto g = ss::graph<numbers>{};
  g.add(
      a,
      [](const numbers& s, const ss::runtime& rt) {
        if (rt.attempt() == 1 && s.n % 3 == 0)
          throw std::runtime_error{"not yet"};
        return add_one(s);
      },
      quick(2));
  g.edge(ss::start, a);
  g.branch(a,
           [&](const numbers&) { return stops ? ss::destination{ss::end} : ss::destination{a}; });
  const auto loop = g.compile();
  auto once = ss::graph<numbers>{};
  once.add(a, add_one).edge(ss::start, a);
  const auto first = once.compile();
  auto config = ss::run_config{};
  config.recursion_limit = 2'000'000'000;
  constexpr auto runs = 8;
  auto e = ss::engine{{.workers = 4}};
  auto failed = std::atomic<int>{0};
  auto submitted = std::latch{1};
  auto ended = std::latch{runs};
  // a callback starts its runs on its own lane
  e.submit(first, numbers{}, {}, [&](const ss::run_result<numbers>&) {
    for (auto i = 0; i < runs; ++i)
      e.submit(loop, numbers{}, config, [&](const ss::run_result<numbers>& r) {
        failed += r.error ? 1 : 0;
        ended.count_down();
      });
    submitted.count_down();
  });
  submitted.wait();
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds{1};
  while (std::chrono::steady_clock::now() < until && e.debug().moved_runs() < 100)
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  stops = true;
  ended.wait();
  BOOST_TEST(failed.load() == 0);
}

BOOST_AUTO_TEST_SUITE_END()

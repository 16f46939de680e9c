// SPDX-License-Identifier: Apache-2.0
// Bodies of one step run concurrently by default. The tests need no clock: a latch opens only when
// all bodies are inside.
#include "graphs.hpp"

#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <latch>

using namespace testing;

BOOST_AUTO_TEST_SUITE(overlap)

namespace {

constexpr auto calls = 8;

ss::task<int> in_coroutine(std::latch& all) {
  all.arrive_and_wait();
  co_return 1;
}

} // namespace

BOOST_AUTO_TEST_CASE(eight_blocking_sends_run_concurrently) {
  for (const auto workers : {1U, 2U, 4U}) {
    auto e = ss::engine{{.workers = workers}};
    auto all = std::latch{calls};
    auto g = ss::graph<numbers>{};
    g.add(worker, [&all](const int&) {
      all.arrive_and_wait();
      return ss::update{ss::set<&numbers::total>(1)};
    });
    g.branch(ss::start, fan_out);
    BOOST_TEST(e.invoke(g.compile(), numbers{.n = calls, .total = 0, .seen = {}}).state.total ==
               calls);
  }
}

BOOST_AUTO_TEST_CASE(eight_spinning_sends_run_concurrently) {
  auto e = ss::engine{{.workers = 2}};
  auto inside = std::atomic<int>{0};
  auto g = ss::graph<numbers>{};
  g.add(worker, [&inside](const int&) {
    ++inside;
    while (inside.load() < calls) {
    }
    return ss::update{ss::set<&numbers::total>(1)};
  });
  g.branch(ss::start, fan_out);
  BOOST_TEST(e.invoke(g.compile(), numbers{.n = calls, .total = 0, .seen = {}}).state.total ==
             calls);
}

BOOST_AUTO_TEST_CASE(eight_sends_of_blocking_coroutines_run_concurrently) {
  auto e = ss::engine{{.workers = 2}};
  auto all = std::latch{calls};
  auto g = ss::graph<numbers>{};
  g.add(worker, [&all](const int&) -> ss::task<ss::update<numbers>> {
    const auto one = co_await in_coroutine(all);
    co_return ss::update{ss::set<&numbers::total>(one)};
  });
  g.branch(ss::start, fan_out);
  BOOST_TEST(e.invoke(g.compile(), numbers{.n = calls, .total = 0, .seen = {}}).state.total ==
             calls);
}

BOOST_AUTO_TEST_CASE(eight_calls_of_one_when_all_run_concurrently) {
  auto e = ss::engine{{.workers = 2}};
  auto all = std::latch{calls};
  auto g = ss::graph<numbers>{};
  g.add(a, [&all](const numbers&) -> ss::task<ss::update<numbers>> {
    auto forks = std::vector<ss::task<int>>{};
    for (auto i = 0; i < calls; ++i)
      forks.push_back(in_coroutine(all));
    const auto ended = co_await ss::when_all(std::move(forks));
    auto total = 0;
    for (const auto& one : ended)
      total += *one.value;
    co_return ss::update{ss::set<&numbers::total>(total)};
  });
  g.edge(ss::start, a);
  BOOST_TEST(e.invoke(g.compile(), numbers{}).state.total == calls);
}

BOOST_AUTO_TEST_CASE(nodes_of_one_step_run_concurrently) {
  auto e = ss::engine{{.workers = 1}};
  auto all = std::latch{3};
  auto g = ss::graph<numbers>{};
  const auto body = [&all](const numbers&) {
    all.arrive_and_wait();
    return ss::update{ss::set<&numbers::total>(1)};
  };
  g.add(a, body).add(b, body).add(c, body);
  g.edge(ss::start, a).edge(ss::start, b).edge(ss::start, c);
  BOOST_TEST(e.invoke(g.compile(), numbers{}).state.total == 3);
}

BOOST_AUTO_TEST_CASE(blocking_body_does_not_delay_other_runs) {
  auto stuck = door{};
  auto e = ss::engine{{.workers = 1}};
  auto blocking = ss::graph<numbers>{};
  blocking.add(a, [&stuck](const numbers&) { stuck.pass(); }).edge(ss::start, a);
  auto plain = ss::graph<numbers>{};
  plain.add(a, add_one).edge(ss::start, a);
  const auto blocks = blocking.compile();
  const auto runs = plain.compile();
  auto held = background_run<numbers>{e, blocks, numbers{}};
  stuck.await_inside(1);
  for (auto i = 0; i < 100; ++i)
    BOOST_TEST_REQUIRE(e.invoke(runs, numbers{}).state.n == 1);
  BOOST_TEST(!held.has_ended());
  stuck.open();
  BOOST_TEST(!held.result().error.has_value());
}

BOOST_AUTO_TEST_CASE(blocking_router_does_not_delay_other_runs) {
  auto stuck = door{};
  auto e = ss::engine{{.workers = 1}};
  auto g = ss::graph<numbers>{};
  g.add(a, add_one).edge(ss::start, a).branch(a, [&stuck](const numbers& s) {
    stuck.pass();
    return s.n < 3 ? ss::destination{a} : ss::destination{ss::end};
  });
  const auto blocks = g.compile();
  auto plain = ss::graph<numbers>{};
  plain.add(a, add_one).edge(ss::start, a);
  auto held = background_run<numbers>{e, blocks, numbers{}};
  stuck.await_inside(1);
  BOOST_TEST(e.invoke(plain.compile(), numbers{}).state.n == 1);
  stuck.open();
  BOOST_TEST(held.result().state.n == 3);
}

namespace {

std::ptrdiff_t threads_of_process() {
  const auto all = std::filesystem::directory_iterator{"/proc/self/task"};
  return std::distance(begin(all), end(all));
}

} // namespace

BOOST_AUTO_TEST_CASE(idle_engine_threads_exit_after_idle_time) {
  constexpr auto blocked_at_once = 24;
  auto e = ss::engine{{.workers = 2, .thread_idle_time = std::chrono::milliseconds{50}}};
  auto g = ss::graph<numbers>{};
  auto all = std::unique_ptr<std::latch>{};
  g.add(worker, [&all](const int&) {
    all->arrive_and_wait();
    return ss::update{ss::set<&numbers::total>(1)};
  });
  g.branch(ss::start, fan_out);
  const auto graph = g.compile();
  const auto before = threads_of_process();
  for (auto round = 0; round < 3; ++round) { // later rounds start new threads
    all = std::make_unique<std::latch>(blocked_at_once);
    const auto sum =
        e.invoke(graph, numbers{.n = blocked_at_once, .total = 0, .seen = {}}).state.total;
    BOOST_TEST(sum == blocked_at_once);
    BOOST_TEST(threads_of_process() > before + blocked_at_once / 2);
    while (threads_of_process() > before + 2) // if they never exit, the timeout fails the test
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: Apache-2.0
// Limits and controls that a caller sets for a run: concurrent tasks, step timeout, drain.
#include "graphs.hpp"

#include <superstep/checkpoint/memory_checkpointer.hpp>
#include <superstep/threads/snapshot.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <stdexcept>
#include <vector>

using namespace testing;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(control)

BOOST_AUTO_TEST_CASE(max_concurrency_limits_parallel_tasks_without_losing_any) {
  for (const auto limit : {1U, 3U}) {
    auto inside = std::atomic<unsigned>{0};
    auto most = std::atomic<unsigned>{0};
    auto g = ss::graph<numbers>{};
    g.add(worker, [&](const int& number) -> ss::task<ss::update<numbers>> {
      const auto now = ++inside;
      most = std::max(most.load(), now);
      auto nap = ss::sleep_for{1ms};
      co_await nap;
      --inside;
      co_return ss::update{ss::set<&numbers::seen>({number})};
    });
    g.branch(ss::start, fan_out);
    auto config = ss::run_config{};
    config.max_concurrency = limit;
    auto e = ss::engine{{.workers = 1}};
    const auto out = e.invoke(g.compile(), numbers{.n = 20, .total = 0, .seen = {}}, config).state;
    BOOST_TEST(most == limit);
    BOOST_TEST_REQUIRE(out.seen.size() == 20U);
    BOOST_TEST(std::ranges::is_sorted(out.seen));
  }
}

BOOST_AUTO_TEST_CASE(step_with_many_tasks_lets_other_runs_continue) {
  constexpr auto tasks = 1'000;
  auto options = ss::engine_options{};
  options.workers = 1;
  options.steps_per_turn = 16;
  auto e = ss::engine{options};
  auto started = std::atomic<int>{0};
  auto seen = std::atomic<int>{tasks};
  auto other = ss::graph<numbers>{};
  other.add(a, [&](const numbers& s) {
    seen = started.load();
    return add_one(s);
  });
  other.edge(ss::start, a);
  const auto short_graph = other.compile();
  auto ended = std::latch{1};
  auto g = ss::graph<numbers>{};
  g.add(worker, [&](const int& number) {
    if (number == 0)
      e.submit(short_graph, numbers{}, {},
               [&](const ss::run_result<numbers>&) { ended.count_down(); });
    ++started;
    return ss::update{ss::set<&numbers::total>(1)};
  });
  g.branch(ss::start, fan_out);
  const auto out = e.invoke(g.compile(), numbers{.n = tasks, .total = 0, .seen = {}}).state;
  ended.wait();
  BOOST_TEST(out.total == tasks);
  BOOST_TEST(seen < tasks / 2);
}

BOOST_AUTO_TEST_CASE(large_when_all_lets_other_runs_continue) {
  constexpr auto calls = 5'000;
  auto e = ss::engine{{.workers = 1}};
  auto started = std::atomic<int>{0};
  auto seen = std::atomic<int>{calls};
  auto other = ss::graph<numbers>{};
  other.add(a, [&](const numbers& s) {
    seen = started.load();
    return add_one(s);
  });
  other.edge(ss::start, a);
  const auto short_graph = other.compile();
  auto ended = std::latch{1};
  const auto one = [&](int number) -> ss::task<int> {
    if (number == 0)
      e.submit(short_graph, numbers{}, {},
               [&](const ss::run_result<numbers>&) { ended.count_down(); });
    ++started;
    co_return 1;
  };
  auto g = ss::graph<numbers>{};
  g.add(b, [&](const numbers&) -> ss::task<ss::update<numbers>> {
    auto bodies = std::vector<ss::task<int>>{};
    for (auto i = 0; i < calls; ++i)
      bodies.push_back(one(i));
    auto all = ss::when_all(std::move(bodies));
    const auto results = co_await all;
    co_return ss::update{ss::set<&numbers::total>(static_cast<int>(results.size()))};
  });
  g.edge(ss::start, b);
  const auto out = e.invoke(g.compile(), numbers{}).state;
  ended.wait();
  BOOST_TEST(out.total == calls);
  BOOST_TEST(started == calls);
  BOOST_TEST(seen < calls / 2);
}

BOOST_AUTO_TEST_CASE(failure_discards_tasks_queued_by_max_concurrency) {
  auto begun = std::atomic<int>{0};
  auto g = ss::graph<numbers>{};
  g.add(worker, [&](const int&) -> ss::task<ss::update<numbers>> {
    ++begun;
    auto nap = ss::sleep_for{1ms};
    co_await nap;
    throw std::runtime_error{"broken"};
  });
  g.branch(ss::start, fan_out);
  auto config = ss::run_config{};
  config.max_concurrency = 2;
  auto e = ss::engine{{.workers = 1}};
  const auto graph = g.compile();
  BOOST_CHECK_THROW(
      static_cast<void>(e.invoke(graph, numbers{.n = 20, .total = 0, .seen = {}}, config)),
      std::exception);
  BOOST_TEST(begun <= 3);
}

BOOST_AUTO_TEST_CASE(failed_run_with_max_concurrency_does_not_wait_for_suspended_body) {
  auto begun = std::atomic<int>{0};
  auto g = ss::graph<numbers>{};
  g.add(worker, [&](const int& number) -> ss::task<ss::update<numbers>> {
    ++begun;
    co_await ss::sleep_for(number == 0 ? std::chrono::milliseconds{1h} : 1ms);
    throw std::runtime_error{"broken"};
  });
  g.branch(ss::start, fan_out);
  auto config = ss::run_config{};
  config.max_concurrency = 2;
  auto e = ss::engine{{.workers = 1}};
  const auto graph = g.compile();
  const auto is_of_node = [](const ss::graph_error& error) {
    return error.code() == ss::graph_errc::node_failed;
  };
  BOOST_CHECK_EXCEPTION(
      static_cast<void>(e.invoke(graph, numbers{.n = 3, .total = 0, .seen = {}}, config)),
      ss::graph_error, is_of_node);
  BOOST_TEST(begun == 2);
}

BOOST_AUTO_TEST_CASE(failed_run_with_max_concurrency_waits_100_ms_for_blocked_body) {
  auto released = std::promise<void>{};
  const auto release = released.get_future().share();
  auto g = ss::graph<numbers>{};
  g.add(worker, [&](const int& number) -> ss::task<ss::update<numbers>> {
    if (number == 0)
      release.wait();
    co_await ss::sleep_for(50ms); // a thread takes over the lane meanwhile
    throw std::runtime_error{"broken"};
  });
  g.branch(ss::start, fan_out);
  auto config = ss::run_config{};
  config.max_concurrency = 2;
  auto e = ss::engine{{.workers = 1}};
  auto ended = std::promise<ss::run_error>{};
  e.submit(g.compile(), numbers{.n = 3, .total = 0, .seen = {}}, config,
           [&](ss::run_result<numbers> r) { ended.set_value(r.error.value_or(ss::run_error{})); });
  BOOST_TEST((ended.get_future().get().code == ss::graph_errc::node_failed));
  released.set_value();
}

BOOST_AUTO_TEST_CASE(exceeded_step_timeout_fails_run_and_names_step) {
  auto g = ss::graph<numbers>{};
  g.add(a, add_one);
  g.add(b, [](const numbers&) -> ss::task<ss::update<numbers>> {
    auto nap = ss::sleep_for{60s};
    co_await nap;
    co_return ss::update<numbers>{};
  });
  g.edge(ss::start, a).edge(a, b);
  const auto graph = g.compile({.name = "slow", .step_timeout = 30ms});
  auto e = ss::engine{{.workers = 1}};
  const auto says_so = [](const ss::graph_error& error) {
    return error.code() == ss::graph_errc::step_timeout && error.step() == 2 &&
           std::string_view{error.what()} == "step 2 of graph 'slow' took longer than 30 ms";
  };
  BOOST_CHECK_EXCEPTION(static_cast<void>(e.invoke(graph, numbers{})), ss::graph_error, says_so);
}

BOOST_AUTO_TEST_CASE(step_timeout_limits_each_step_not_whole_run) {
  auto g = ss::graph<numbers>{};
  g.add(a, [](const numbers& s) -> ss::task<ss::update<numbers>> {
    auto nap = ss::sleep_for{5ms};
    co_await nap;
    co_return ss::update{ss::set<&numbers::n>(s.n + 1)};
  });
  g.edge(ss::start, a);
  g.branch(
      a, [](const numbers& s) { return s.n < 20 ? ss::destination{a} : ss::destination{ss::end}; });
  auto config = ss::run_config{};
  config.recursion_limit = 30;
  auto e = ss::engine{{.workers = 1}};
  BOOST_TEST(e.invoke(g.compile({.step_timeout = 80ms}), numbers{}, config).state.n == 20);
}

BOOST_AUTO_TEST_CASE(run_that_a_body_drains_stops_before_next_step) {
  auto bodies = std::atomic<int>{0};
  auto handle = ss::run_handle{};
  auto is_known = std::latch{1};
  auto g = ss::graph<numbers>{};
  g.add(a, [&](const numbers& s) {
    is_known.wait(); // until the test has the run's handle
    if (++bodies == 5)
      handle.drain("enough");
    return add_one(s);
  });
  g.edge(ss::start, a).edge(a, a);
  auto e = ss::engine{{.workers = 1}};
  auto run = e.stream(g.compile(), numbers{}, ss::stream_mode::none);
  handle = run.handle();
  is_known.count_down();
  const auto is_drained = [](const ss::graph_error& error) {
    return error.code() == ss::graph_errc::drained;
  };
  BOOST_CHECK_EXCEPTION(static_cast<void>(run.next()), ss::graph_error, is_drained);
  BOOST_TEST(bodies == 5);
}

BOOST_AUTO_TEST_CASE(drained_run_stops_after_current_step_until_resumed) {
  auto starts = std::atomic<int>{0};
  auto handle = ss::run_handle{};
  auto held = gate{};
  auto g = ss::graph<numbers>{};
  g.add(a, [&](const numbers& s) -> ss::task<ss::update<numbers>> {
    ++starts;
    auto known = held.pass(); // waits until the test has the run's handle
    static_cast<void>(co_await known);
    handle.drain("the machine is needed");
    co_return ss::update{ss::set<&numbers::n>(s.n + 1)};
  });
  g.add(b, [&](const numbers& s) {
    ++starts;
    return ss::update{ss::set<&numbers::n>(s.n + 10)};
  });
  g.edge(ss::start, a).edge(a, b);
  const auto graph = g.compile({.checkpointer = ss::memory_checkpointer()});
  auto config = ss::run_config{};
  config.thread_id = "t";
  auto e = ss::engine{{.workers = 1}};
  auto run = e.stream(graph, numbers{}, ss::stream_mode::none, config);
  handle = run.handle();
  held.open();
  const auto says_so = [](const ss::graph_error& error) {
    return error.code() == ss::graph_errc::drained &&
           std::string_view{error.what()} == "Graph drained: the machine is needed";
  };
  BOOST_CHECK_EXCEPTION(static_cast<void>(run.next()), ss::graph_error, says_so);
  BOOST_TEST(starts == 1);
  const auto rest = e.try_invoke(graph, ss::resume(), config);
  BOOST_TEST_REQUIRE(!rest.error);
  BOOST_TEST(rest.state.n == 11);
  BOOST_TEST(starts == 2);
}

// With these values runs would never progress, or threads would never wait.
BOOST_AUTO_TEST_CASE(engine_options_out_of_range_are_rejected) {
  auto options = std::vector<ss::engine_options>(5);
  options[0].steps_per_turn = 0;
  options[1].watcher_tick = std::chrono::microseconds{0};
  options[2].watcher_tick = std::chrono::microseconds{-1};
  options[3].thread_idle_time = std::chrono::milliseconds{-1};
  options[4].shutdown_grace = std::chrono::milliseconds{-1};
  for (auto& wrong : options) {
    wrong.workers = 1;
    BOOST_CHECK_THROW(ss::engine{wrong}, std::invalid_argument);
  }
}

BOOST_AUTO_TEST_CASE(engine_with_smallest_option_values_completes_a_run) {
  auto options = ss::engine_options{};
  options.workers = 1;
  options.watcher_tick = std::chrono::microseconds{1};
  options.threads_max = 0;
  options.thread_idle_time = {};
  options.pooled_actors_max = 0;
  options.steps_per_turn = 1;
  options.shutdown_grace = {};
  auto e = ss::engine{options};
  auto g = ss::graph<numbers>{};
  g.add(a, add_one).add(b, add_one).add(c, add_one);
  g.edge(ss::start, a).edge(a, b).edge(b, c);
  BOOST_TEST(e.invoke(g.compile(), numbers{}).state.n == 3);
}

BOOST_AUTO_TEST_SUITE_END()

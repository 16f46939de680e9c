// SPDX-License-Identifier: Apache-2.0
// The engine's cost for N items must grow linearly with N.
#include "graphs.hpp"

#include <superstep/checkpoint/memory_checkpointer.hpp>
#include <superstep/checkpoint/write_cache.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <limits>

#include <malloc.h>

using namespace testing;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(growth)

namespace {

double process_clock() {
  auto now = timespec{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// Returns the CPU time of this process when its other threads are idle; other processes on the
/// machine do not count. The clock counts a running thread only up to the last tick of its core, so
/// it is read until it stands still for several ticks.
double cpu_seconds() {
  constexpr auto own_use = 0.0005; // of this loop
  auto now = process_clock();
  for (auto i = 0; i < 100; ++i) {
    std::this_thread::sleep_for(20ms);
    const auto before = std::exchange(now, process_clock());
    if (now - before < own_use)
      break;
  }
  return now;
}

constexpr auto growth_max = 9.0; // above 4, because the larger case does not fit into CPU caches

/// Returns the cost ratio for four times the work: 4 if linear, 16 if quadratic. Measures both
/// sizes in turn and takes the minimum of each. A ratio above the limit is measured again, because
/// other processes share the CPU's caches. `measure` returns the CPU seconds of the measured part.
template <class Measure>
double growth_of(int n, Measure measure) {
  auto small = std::numeric_limits<double>::max();
  auto large = small;
  for (auto i = 0; i < 12 && (i < 3 || large / small >= growth_max); ++i) {
    small = std::min(small, measure(n));
    large = std::min(large, measure(4 * n));
  }
  return large / small;
}

void await_count(const std::atomic<int>& count, int n) {
  while (count < n)
    std::this_thread::yield();
}

double cancel_wide(int n) {
  auto started = std::atomic<int>{0};
  auto e = ss::engine{{.workers = 1}};
  auto g = ss::graph<numbers>{};
  g.add(worker, [&](const int&) -> ss::task<void> {
    ++started;
    auto nap = ss::sleep_for{1h};
    co_await nap;
  });
  g.branch(ss::start, fan_out);
  auto run = background_run<numbers>{e, g.compile(), numbers{.n = n, .total = 0, .seen = {}}};
  await_count(started, n);
  static_cast<void>(e.debug().actors({})); // returns when the lane has processed its earlier work
  const auto begin = cpu_seconds();
  run.handle.cancel();
  BOOST_TEST(run.result().error.has_value());
  return cpu_seconds() - begin;
}

double cancel_many(int n) {
  auto started = std::atomic<int>{0};
  auto ended = std::latch{n};
  auto e = ss::engine{{.workers = 1}};
  auto g = ss::graph<numbers>{};
  g.add(a, [&](const numbers&) -> ss::task<void> {
    ++started;
    auto nap = ss::sleep_for{1h};
    co_await nap;
  });
  g.edge(ss::start, a);
  const auto graph = g.compile();
  auto handles = std::vector<ss::run_handle>{};
  for (auto i = 0; i < n; ++i)
    handles.push_back(e.submit(graph, numbers{}, {},
                               [&](const ss::run_result<numbers>&) { ended.count_down(); }));
  await_count(started, n);
  const auto begin = cpu_seconds();
  for (const auto& h : handles)
    h.cancel();
  ended.wait();
  return cpu_seconds() - begin;
}

double wide_step(int n, const ss::compile_options& compile, const ss::node_options& node) {
  auto e = ss::engine{{.workers = 1}};
  auto g = ss::graph<numbers>{};
  g.add(
      worker, [](const int&) { return ss::update{ss::set<&numbers::total>(1)}; }, node);
  g.branch(ss::start, fan_out);
  const auto graph = g.compile(compile);
  auto config = ss::run_config{};
  if (compile.checkpointer)
    config.thread_id = "t";
  const auto begin = cpu_seconds();
  const auto out = e.invoke(graph, numbers{.n = n, .total = 0, .seen = {}}, config).state;
  const auto spent = cpu_seconds() - begin;
  BOOST_TEST(out.total == n);
  return spent;
}

/// Resumes n interrupted Sends with a value for each interrupt.
double resume_interrupted(int n) {
  auto options = ss::compile_options{};
  options.checkpointer = ss::memory_checkpointer();
  auto e = ss::engine{{.workers = 1}};
  auto g = ss::graph<numbers>{};
  g.add(worker, [](const int& i, ss::runtime rt) -> ss::task<ss::update<numbers>> {
    auto question = rt.interrupt(i);
    co_await question;
    co_return ss::update{ss::set<&numbers::total>(1)};
  });
  g.branch(ss::start, fan_out);
  const auto graph = g.compile(options);
  auto config = ss::run_config{};
  config.thread_id = "t";
  auto values = std::map<std::string, ss::json::value>{};
  for (const auto& asked :
       e.invoke(graph, numbers{.n = n, .total = 0, .seen = {}}, config).interrupts)
    values[asked.id] = "yes";
  BOOST_TEST(values.size() == std::size_t(n));
  const auto begin = cpu_seconds();
  const auto out = e.invoke(graph, ss::resume(std::move(values)), config).state;
  const auto spent = cpu_seconds() - begin;
  BOOST_TEST(out.total == n);
  return spent;
}

double slow_readers(int n) {
  auto e = ss::engine{{.workers = 1}};
  auto g = ss::graph<numbers>{};
  g.add(a, add_one).edge(ss::start, a);
  g.branch(a,
           [](const numbers& s) -> ss::destination {
             if (s.n < 8)
               return a;
             return ss::end;
           },
           {a, ss::end});
  const auto graph = g.compile();
  auto all = std::vector<ss::event_range<numbers>>{};
  for (auto i = 0; i < n; ++i)
    all.push_back(e.stream(graph, numbers{}, ss::stream_mode::updates, {}, 2));
  const auto begin = cpu_seconds();
  for (auto more = true; more;) {
    more = false;
    for (auto& s : all)
      more = s.next().has_value() || more;
  }
  return cpu_seconds() - begin;
}

} // namespace

BOOST_AUTO_TEST_CASE(cancelling_suspended_sends_takes_linear_time) {
  BOOST_TEST(growth_of(3'000, cancel_wide) < growth_max);
}

BOOST_AUTO_TEST_CASE(cancelling_many_runs_takes_linear_time) {
  BOOST_TEST(growth_of(2'000, cancel_many) < growth_max);
}

BOOST_AUTO_TEST_CASE(many_tasks_with_checkpointer_take_linear_time) {
  const auto kept = [](int n) {
    auto options = ss::compile_options{};
    options.checkpointer = ss::memory_checkpointer();
    return wide_step(n, options, {});
  };
  BOOST_TEST(growth_of(1'500, kept) < growth_max);
}

BOOST_AUTO_TEST_CASE(many_cached_tasks_take_linear_time) {
  const auto cached = [](int n) {
    auto options = ss::compile_options{};
    options.cache = std::make_shared<ss::memory_cache>();
    auto node = ss::node_options{};
    node.cache = ss::cache_policy{
        [](const ss::body_input& in) { return std::to_string(ss::input_as<int>(in)); }, {}};
    return wide_step(n, options, node);
  };
  BOOST_TEST(growth_of(1'500, cached) < growth_max);
}

BOOST_AUTO_TEST_CASE(resuming_interrupted_sends_takes_linear_time) {
  BOOST_TEST(growth_of(3'000, resume_interrupted) < growth_max);
}

BOOST_AUTO_TEST_CASE(timers_of_ended_runs_release_their_memory) {
#ifndef __SANITIZE_ADDRESS__ // which has an allocator of its own
#  ifndef __SANITIZE_THREAD__
  auto e = ss::engine{{.workers = 1}};
  auto g = ss::graph<numbers>{};
  g.add(a, add_one).edge(ss::start, a);
  const auto with_step_limit = g.compile({.step_timeout = 1h});
  auto config = ss::run_config{};
  config.deadline = 1h;
  const auto run = [&](int n) {
    for (auto i = 0; i < n; ++i)
      (void)e.invoke(with_step_limit, numbers{}, config);
    return ::mallinfo2().uordblks;
  };
  const auto before = run(5'000);
  const auto after = run(30'000); // their 60,000 alarms would take 4 MB
  BOOST_TEST(after < before + 1'000'000);
#  endif
#endif
}

BOOST_AUTO_TEST_CASE(reading_streams_in_turn_takes_linear_time) {
  BOOST_TEST(growth_of(500, slow_readers) < growth_max);
}

BOOST_AUTO_TEST_SUITE_END()

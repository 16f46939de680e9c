// SPDX-License-Identifier: Apache-2.0
// Engines destroyed while work is in progress. Every callback is called once, every lease is
// released, and the destructor returns within its grace period.
#include "late_checkpointer.hpp"

#include <superstep/checkpoint/memory_checkpointer.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <new>
#include <optional>

using namespace testing;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(shutdown)

namespace {

using clock_type = std::chrono::steady_clock;

/// A graph whose node waits for an hour, and the number of bodies that wait.
struct waiting_graph {
  std::shared_ptr<std::atomic<int>> inside = std::make_shared<std::atomic<int>>(0);
  ss::compiled_graph<numbers> graph;

  explicit waiting_graph(ss::compile_options options = {}) : graph{make(inside, options)} {}
  void await_inside(int n) const {
    while (inside->load() < n)
      std::this_thread::yield();
  }

private:
  static ss::compiled_graph<numbers> make(std::shared_ptr<std::atomic<int>> count,
                                          const ss::compile_options& options) {
    auto g = ss::graph<numbers>{};
    g.add(a, [count](const numbers& s) -> ss::task<void> {
      const auto n = s.n;
      ++*count;
      if (n == 0) {
        auto nap = ss::sleep_for{1h};
        co_await nap;
      }
    });
    g.edge(ss::start, a);
    return g.compile(options);
  }
};

ss::compiled_graph<numbers> quick_graph() {
  auto g = ss::graph<numbers>{};
  g.add(a, add_one).edge(ss::start, a);
  return g.compile();
}

} // namespace

namespace {

/// Destroys an engine with one run in progress. The callback of each run submits the next run,
/// until there have been `depth` runs.
void check_chain(int depth) {
  const auto waits = waiting_graph{};
  auto called = std::atomic<int>{0};
  auto refused = std::atomic<int>{0};
  auto next = std::function<void(const ss::run_result<numbers>&)>{};
  {
    auto e = ss::engine{{.workers = 2}};
    next = [&](const ss::run_result<numbers>& r) {
      if (r.error && r.error->code == ss::graph_errc::cancelled)
        ++refused;
      if (++called < depth + 1)
        e.submit(waits.graph, numbers{}, {}, next);
    };
    e.submit(waits.graph, numbers{}, {}, next);
    waits.await_inside(1);
  }
  BOOST_TEST(called.load() == depth + 1);
  BOOST_TEST(refused.load() == depth + 1);
}

} // namespace

BOOST_AUTO_TEST_CASE(runs_submitted_from_callbacks_end_at_shutdown) {
  for (const auto depth : {1, 2, 20'000})
    check_chain(depth);
}

BOOST_AUTO_TEST_CASE(coroutine_that_suspends_after_shutdown_is_destroyed) {
  auto is_inside = std::atomic<bool>{false};
  auto has_ended = std::atomic<bool>{false};
  auto in_frame = std::weak_ptr<int>{};
  auto g = ss::graph<numbers>{};
  g.add(a, [&](const numbers&) -> ss::task<void> {
    const auto object = std::make_shared<int>(1);
    in_frame = object;
    is_inside = true;
    while (!has_ended) // the run ends while its body blocks a thread
      std::this_thread::sleep_for(1ms);
    std::this_thread::sleep_for(50ms); // by then the lane has closed
    auto nap = ss::sleep_for{1h};
    co_await nap;
  });
  g.edge(ss::start, a);
  {
    auto e = ss::engine{{.workers = 1}};
    e.submit(g.compile(), numbers{}, {}, [&](const ss::run_result<numbers>&) { has_ended = true; });
    while (!is_inside)
      std::this_thread::yield();
  }
  BOOST_TEST(in_frame.expired());
}

BOOST_AUTO_TEST_CASE(runs_submitted_by_abandoned_bodies_end_at_shutdown) {
  auto called = std::atomic<int>{0};
  auto inside = door{};
  const auto quick = quick_graph();
  {
    auto e = ss::engine{{.workers = 1}};
    auto g = ss::graph<numbers>{};
    g.add(a, [&](const numbers&, const ss::runtime& rt) {
      const auto stop = rt.stop();
      inside.open();
      inside.pass();
      while (!stop.stop_requested())
        std::this_thread::yield();
      for (auto i = 0; i < 10; ++i)
        e.submit(quick, numbers{}, {}, [&](const ss::run_result<numbers>&) { ++called; });
      return ss::update<numbers>{};
    });
    g.edge(ss::start, a);
    e.submit(g.compile(), numbers{}, {}, [&](const ss::run_result<numbers>&) { ++called; });
    inside.await_inside(1);
  }
  BOOST_TEST(called.load() == 11);
}

BOOST_AUTO_TEST_CASE(engine_destructor_ends_endless_resubmission_after_grace_period) {
  struct place {
    alignas(ss::engine) std::byte memory[sizeof(ss::engine)]; // outlives the engine
    std::atomic<bool> is_gone{false};
    std::atomic<long> called{0};
  };
  static auto p = place{};
  const auto quick = quick_graph();
  auto options = ss::engine_options{};
  options.workers = 2;
  options.shutdown_grace = 200ms;
  auto* const e = new (static_cast<void*>(&p.memory)) ss::engine{options};
  struct again {
    ss::engine* e;
    ss::compiled_graph<numbers> graph;
    void operator()(const ss::run_result<numbers>&) const {
      ++p.called;
      if (!p.is_gone)
        e->submit(graph, numbers{}, {}, *this);
    }
  };
  for (auto i = 0; i < 4; ++i)
    e->submit(quick, numbers{}, {}, again{e, quick});
  while (p.called < 100)
    std::this_thread::yield();
  const auto begin = clock_type::now();
  e->~engine();
  p.is_gone = true;
  BOOST_TEST((clock_type::now() - begin < 3s));
}

BOOST_AUTO_TEST_CASE(runs_queued_behind_blocked_bodies_end_at_shutdown) {
  // Bodies block every thread that the engine may have, so its lane makes no progress.
  static auto stuck = door{};
  auto called = std::atomic<int>{0};
  auto failed = std::atomic<int>{0};
  auto g = ss::graph<numbers>{};
  g.add(a, [](const numbers&) {
    stuck.pass();
    return ss::update<numbers>{};
  });
  g.edge(ss::start, a);
  const auto blocks = g.compile();
  const auto quick = quick_graph();
  {
    auto options = ss::engine_options{};
    options.workers = 1;
    options.threads_max = 2;
    options.shutdown_grace = 500ms;
    auto e = ss::engine{options};
    const auto count = [&](const ss::run_result<numbers>& r) {
      failed += r.error ? 1 : 0;
      ++called;
    };
    for (auto i = 0; i < 2; ++i)
      e.submit(blocks, numbers{}, {}, count);
    stuck.await_inside(2);
    for (auto i = 0; i < 10; ++i)
      e.submit(quick, numbers{}, {}, count);
  }
  stuck.open();
  BOOST_TEST(called.load() == 12);
  BOOST_TEST(failed.load() == 12);
}

namespace {

/// One run owns the thread and others wait for its lease when the engine is destroyed.
void check_leases(int waiting) {
  auto options = ss::compile_options{};
  options.checkpointer = ss::memory_checkpointer();
  const auto waits = waiting_graph{options};
  auto config = ss::run_config{};
  config.thread_id = "t";
  auto called = std::atomic<int>{0};
  {
    auto e = ss::engine{{.workers = 2}};
    const auto count = [&](const ss::run_result<numbers>&) { ++called; };
    e.submit(waits.graph, numbers{}, config, count);
    waits.await_inside(1);
    for (auto i = 0; i < waiting; ++i)
      e.submit(waits.graph, numbers{.n = 1, .total = 0, .seen = {}}, config, count);
    while (e.debug().live_runs() < static_cast<std::size_t>(waiting))
      std::this_thread::yield();
  }
  BOOST_TEST(called.load() == waiting + 1);
  auto e = ss::engine{{.workers = 1}};
  auto resumed = ss::update{ss::set<&numbers::n>(1)};
  const auto ended = e.try_invoke(waits.graph, std::move(resumed), config);
  BOOST_TEST(!ended.error); // a lost lease exceeds the test's timeout
}

} // namespace

BOOST_AUTO_TEST_CASE(pending_leases_are_released_at_shutdown) {
  for (const auto waiting : {1, 2, 20'000})
    check_leases(waiting);
}

BOOST_AUTO_TEST_CASE(engine_is_destroyed_by_another_thread) {
  auto g = ss::graph<numbers>{};
  g.add(a, add_one).edge(ss::start, a);
  auto e = std::make_unique<ss::engine>();
  BOOST_TEST(e->invoke(g.compile(), numbers{}).state.n == 1);
  std::jthread{[&e] { e.reset(); }}.join(); // while the thread that has made the engine lives
  BOOST_TEST(!e);
}

BOOST_AUTO_TEST_CASE(debug_lists_no_actors_of_destroyed_engine) {
  auto looking = std::optional<ss::engine_debug>{};
  auto handle = ss::run_handle{};
  const auto waits = waiting_graph{};
  {
    auto e = ss::engine{{.workers = 1}};
    handle = e.submit(waits.graph, numbers{}, {}, [](const ss::run_result<numbers>&) {});
    waits.await_inside(1);
    looking.emplace(e.debug());
    BOOST_TEST(looking->actors(handle).size() == 2U);
  }
  BOOST_TEST(looking->actors(handle).empty());
  handle.cancel();
  handle.drain();
}

namespace {

/// A quick graph whose checkpoints are saved when the test calls save().
ss::compiled_graph<numbers> saved_late(const std::shared_ptr<late_checkpointer>& checkpointer) {
  auto g = ss::graph<numbers>{};
  g.add(a, add_one).edge(ss::start, a);
  auto options = ss::compile_options{};
  options.checkpointer = checkpointer;
  return g.compile(options);
}

ss::run_config on_thread(std::string id) {
  auto config = ss::run_config{};
  config.thread_id = std::move(id);
  return config;
}

} // namespace

BOOST_AUTO_TEST_CASE(destructor_waits_for_results_that_are_being_saved) {
  const auto checkpointer = std::make_shared<late_checkpointer>();
  auto e = std::make_unique<ss::engine>();
  auto is_gone = std::atomic<bool>{false};
  auto called = std::atomic<int>{0};
  auto called_late = std::atomic<int>{0};
  auto refused = std::atomic<int>{0};
  const auto graph = saved_late(checkpointer);
  e->submit(graph, numbers{}, on_thread("t"), [&, &to = *e](const ss::run_result<numbers>& r) {
    called_late += is_gone ? 1 : 0;
    called += r.error ? 0 : 1;
    to.submit(quick_graph(), numbers{}, {}, [&](const ss::run_result<numbers>& next) {
      called_late += is_gone ? 1 : 0;
      refused += next.error ? 1 : 0;
    });
  });
  checkpointer->await_waiting(1);
  {
    const auto destroys = std::jthread{[&] {
      e.reset();
      is_gone = true;
    }};
    std::this_thread::sleep_for(50ms); // usually long enough for the threads to end
    checkpointer->save();
  }
  BOOST_TEST(called.load() == 1);
  BOOST_TEST(refused.load() == 1);
  BOOST_TEST(called_late.load() == 0);
}

BOOST_AUTO_TEST_CASE(results_saved_after_the_grace_period_are_dropped) {
  const auto checkpointer = std::make_shared<late_checkpointer>();
  auto options = ss::engine_options{};
  options.workers = 1;
  options.shutdown_grace = 100ms;
  auto called = std::atomic<int>{0};
  const auto held = std::make_shared<int>(1);
  const auto graph = saved_late(checkpointer);
  {
    auto e = ss::engine{options};
    e.submit(graph, numbers{}, on_thread("t"),
             [&called, held](const ss::run_result<numbers>&) { ++called; });
    checkpointer->await_waiting(1);
  }
  BOOST_TEST(held.use_count() == 2);
  checkpointer->save();
  BOOST_TEST(called.load() == 0);
  BOOST_TEST(held.use_count() == 1); // the callback was destroyed
  checkpointer->save_at_once();
  auto e = ss::engine{options};
  const auto resumed = e.try_invoke(graph, ss::update{ss::set<&numbers::n>(1)}, on_thread("t"));
  BOOST_TEST(!resumed.error); // a lost lease exceeds the test's timeout
}

BOOST_AUTO_TEST_CASE(blocking_callbacks_do_not_hold_up_the_destructor) {
  struct shared {
    door stuck;
    std::atomic<int> called{0};
  };
  const auto s = std::make_shared<shared>();
  auto options = ss::engine_options{};
  options.workers = 2;
  options.shutdown_grace = 400ms;
  const auto waits = waiting_graph{};
  auto e = std::make_unique<ss::engine>(options);
  e->submit(waits.graph, numbers{}, {}, [s, &to = *e](const ss::run_result<numbers>&) {
    for (auto i = 0; i < 8; ++i) // the engine shuts down, so these are refused
      to.submit(quick_graph(), numbers{}, {}, [s](const ss::run_result<numbers>&) {
        ++s->called;
        s->stuck.pass();
      });
  });
  waits.await_inside(1);
  auto ended = std::promise<void>{};
  auto has_ended = ended.get_future();
  auto destroys = std::jthread{[&] {
    e.reset();
    ended.set_value();
  }};
  BOOST_TEST((has_ended.wait_for(20s) == std::future_status::ready));
  BOOST_TEST(s->called.load() > 0);
  const auto called = s->called.load();
  s->stuck.open();
  destroys.join();
  BOOST_TEST(s->called.load() == called);
}

BOOST_AUTO_TEST_CASE(largest_durations_of_options_count_as_unlimited) {
  auto options = ss::engine_options{.workers = 1};
  options.watcher_tick = std::chrono::microseconds::max();
  options.hung_after = std::chrono::milliseconds::max();
  options.thread_idle_time = std::chrono::milliseconds::max();
  options.shutdown_grace = std::chrono::milliseconds::max();
  auto has_returned = std::atomic<bool>{false};
  auto is_inside = std::atomic<bool>{false};
  auto g = ss::graph<numbers>{};
  g.add(a, [&](const numbers&) {
    is_inside = true;
    std::this_thread::sleep_for(100ms);
    has_returned = true;
  });
  g.edge(ss::start, a);
  {
    auto e = ss::engine{options};
    e.submit(g.compile(), numbers{}, {}, [](const auto&) {});
    while (!is_inside)
      std::this_thread::yield();
    BOOST_TEST(e.debug().hung_threads() == 0U);
  }
  BOOST_TEST(has_returned.load()); // the destructor has waited
}

BOOST_AUTO_TEST_SUITE_END()

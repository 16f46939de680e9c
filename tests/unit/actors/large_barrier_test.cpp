// SPDX-License-Identifier: Apache-2.0
// Steps with many writes: a job thread applies them, so that other runs of the lane continue.
#include "graphs.hpp"

#include <superstep/checkpoint/memory_checkpointer.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

using namespace testing;
using namespace std::chrono_literals;

namespace large_steps {

/// Called by the reducer for each write; set by a test.
struct reducer_hook {
  std::function<void()> called;
};
inline auto hook = reducer_hook{};

struct hooked_sum {
  void operator()(int& into, int&& more) const {
    if (hook.called && more != 0) // the input writes 0
      hook.called();
    into += more;
  }
};

struct sums {
  int n = 0;
  int total = 0;
  using reducers = ss::reducers<ss::by<&sums::total, hooked_sum>>;
};
BOOST_DESCRIBE_STRUCT(sums, (), (n, total))

inline constexpr ss::node<sums> last{"last"};
constexpr auto many = 5'000;

/// Sends `n` payloads to `worker`, whose writes form one large step, followed by `last`.
ss::graph<sums> wide_graph() {
  auto g = ss::graph<sums>{};
  g.add(worker, [](const int&) { return ss::update{ss::set<&sums::total>(1)}; });
  g.add(last, [](const sums& s) { return ss::update{ss::set<&sums::n>(s.total)}; });
  g.branch(ss::start, [](const sums& s) {
    auto all = ss::destinations{};
    for (auto i = 0; i < s.n; ++i)
      all.emplace_back(worker, i);
    return all;
  });
  g.edge(worker, last);
  return g;
}

/// An engine with one lane, whose reducer waits at a door when it is called first. A waiting run
/// makes the lane have two runs.
struct one_lane {
  std::optional<ss::engine> owned{std::in_place, ss::engine_options{.workers = 1}};
  ss::engine& e = *owned;
  door inside;
  gate held;
  ss::compiled_graph<numbers> waiting_graph = [this] {
    auto g = ss::graph<numbers>{};
    g.add(a, [this](const numbers&) -> ss::task<void> {
      auto passing = held.pass();
      co_await passing;
    });
    g.edge(ss::start, a);
    return g.compile();
  }();
  background_run<numbers> waiting{e, waiting_graph, numbers{}};

  one_lane() {
    held.await_arrivals(1);
    hook.called = [this, is_first = std::make_shared<std::atomic<bool>>(true)] {
      if (is_first->exchange(false))
        inside.pass();
    };
  }
  one_lane(const one_lane&) = delete;
  one_lane& operator=(const one_lane&) = delete;
  ~one_lane() {
    inside.open();
    held.open();
    (void)waiting.result();
    owned.reset(); // waits for the barrier of a run that has ended at its deadline
    hook.called = nullptr;
  }

  /// Runs a graph with one node on the same lane.
  [[nodiscard]] int run_other() {
    auto g = ss::graph<numbers>{};
    g.add(b, add_one);
    g.edge(ss::start, b);
    return e.invoke(g.compile(), numbers{}).state.n;
  }
};

} // namespace large_steps

using namespace large_steps;

BOOST_AUTO_TEST_SUITE(large_barrier)

BOOST_AUTO_TEST_CASE(applying_large_step_lets_other_runs_continue) {
  auto lane = one_lane{};
  const auto g = wide_graph().compile();
  auto wide = background_run<sums>{lane.e, g, sums{.n = many, .total = 0}};
  lane.inside.await_inside(1);
  BOOST_TEST(lane.run_other() == 1); // would wait for the reducer otherwise
  BOOST_TEST(!wide.has_ended());
  lane.inside.open();
  const auto out = wide.result();
  BOOST_TEST_REQUIRE(!out.error);
  BOOST_TEST(out.state.total == many);
  BOOST_TEST(out.state.n == many);
}

BOOST_AUTO_TEST_CASE(later_barriers_with_slow_reducer_let_other_runs_continue) {
  auto lane = one_lane{};
  lane.inside.open();
  const auto small = sums{.n = 1, .total = 0};
  const auto g = wide_graph().compile();
  hook.called = [] { std::this_thread::sleep_for(150ms); }; // no hand-over: it holds the lane
  BOOST_TEST(lane.e.invoke(g, small).state.n == 1);
  auto reduces = door{};
  hook.called = [&] { reduces.pass(); };
  auto slow = background_run<sums>{lane.e, g, small};
  reduces.await_inside(1);
  BOOST_TEST(lane.run_other() == 1); // would wait for the reducer otherwise
  BOOST_TEST(!slow.has_ended());
  reduces.open();
  BOOST_TEST(slow.result().state.n == 1);
}

BOOST_AUTO_TEST_CASE(large_step_applies_all_updates_on_one_lane) {
  auto e = ss::engine{{.workers = 1}};
  const auto out = e.invoke(wide_graph().compile(), sums{.n = many, .total = 0}).state;
  BOOST_TEST(out.total == many);
  BOOST_TEST(out.n == many);
}

BOOST_AUTO_TEST_CASE(run_cancelled_in_large_barrier_ends_after_barrier) {
  auto lane = one_lane{};
  const auto g = wide_graph().compile();
  auto wide = background_run<sums>{lane.e, g, sums{.n = many, .total = 0}};
  lane.inside.await_inside(1);
  wide.handle.cancel();
  BOOST_TEST(lane.run_other() == 1); // the lane has handled the cancellation
  BOOST_TEST(!wide.has_ended());
  lane.inside.open();
  const auto out = wide.result();
  BOOST_TEST_REQUIRE(out.error.has_value());
  BOOST_TEST((out.error->code == ss::graph_errc::cancelled));
  BOOST_TEST(out.state.total == many);
}

BOOST_AUTO_TEST_CASE(cancelled_run_that_waits_for_large_barrier_starts_no_nested_run) {
  auto lane = one_lane{};
  const auto wide = wide_graph().compile();
  auto begun = std::atomic<int>{0};
  auto child = ss::graph<numbers>{};
  child.add(c, [&](const numbers&) { ++begun; }).edge(ss::start, c);
  const auto small = child.compile();
  auto g = ss::graph<numbers>{};
  g.add(a, [&](const numbers&, ss::runtime rt) -> ss::task<void> {
    auto nested = rt.invoke(wide, sums{.n = many, .total = 0});
    co_await nested;
  });
  g.add(b, [&](const numbers&, ss::runtime rt) -> ss::task<void> {
    while (true) {
      auto rest = ss::sleep_for{1ms};
      co_await rest;
      auto nested = rt.invoke(small, numbers{});
      co_await nested;
    }
  });
  g.edge(ss::start, a).edge(ss::start, b);
  const auto both = g.compile();
  auto run = background_run<numbers>{lane.e, both, numbers{}};
  lane.inside.await_inside(1);
  run.handle.cancel();
  BOOST_TEST(lane.run_other() == 1); // the lane has handled the cancellation
  const auto before = begun.load();
  std::this_thread::sleep_for(50ms);
  BOOST_TEST(begun.load() == before);
  lane.inside.open();
  BOOST_TEST((run.result().error->code == ss::graph_errc::cancelled));
}

BOOST_AUTO_TEST_CASE(deadline_ends_run_without_waiting_for_large_barrier) {
  auto lane = one_lane{};
  const auto g = wide_graph().compile();
  auto config = ss::run_config{};
  config.deadline = 300ms;
  auto wide = background_run<sums>{lane.e, g, sums{.n = many, .total = 0}, config};
  const auto out = wide.result(); // the reducer is still waiting
  BOOST_TEST_REQUIRE(out.error.has_value());
  BOOST_TEST((out.error->code == ss::graph_errc::deadline));
  BOOST_TEST(out.state.total == 0);
}

BOOST_AUTO_TEST_CASE(failing_large_step_keeps_previous_state) {
  auto lane = one_lane{};
  const auto g = wide_graph().compile();
  for (const auto throws_number : {false, true}) {
    auto calls = 0;
    hook.called = [&calls, throws_number] {
      if (++calls == many / 2 && throws_number)
        throw 42;
      if (calls == many / 2)
        throw std::runtime_error{"no more"};
    };
    const auto out = lane.e.try_invoke(g, sums{.n = many, .total = 0});
    BOOST_TEST_REQUIRE(out.error.has_value());
    BOOST_TEST(out.state.total == 0);
    BOOST_TEST(out.state.n == many);
  }
  hook.called = nullptr;
  BOOST_TEST(lane.e.invoke(g, sums{.n = many, .total = 0}).state.n == many);
}

BOOST_AUTO_TEST_CASE(state_after_large_step_is_saved_in_checkpoint) {
  auto lane = one_lane{};
  lane.inside.open();
  auto options = ss::compile_options{};
  options.checkpointer = ss::memory_checkpointer();
  const auto g = wide_graph().compile(std::move(options));
  auto config = ss::run_config{};
  config.thread_id = "t";
  BOOST_TEST(lane.e.invoke(g, sums{.n = many, .total = 0}, config).state.n == many);
  const auto at = lane.e.get_state(g, config);
  BOOST_TEST_REQUIRE(at.values.has_value());
  BOOST_TEST(at.values->total == many);
}

BOOST_AUTO_TEST_CASE(large_step_of_subgraph_applies_all_updates) {
  auto lane = one_lane{};
  lane.inside.open();
  auto outer = ss::graph<sums>{};
  outer.add(
      last, wide_graph().compile(), [](const sums& s) { return s; },
      [](const sums& s) { return ss::update{ss::set<&sums::n>(s.total)}; });
  outer.edge(ss::start, last);
  BOOST_TEST(lane.e.invoke(outer.compile(), sums{.n = many, .total = 0}).state.n == many);
}

BOOST_AUTO_TEST_CASE(destroying_engine_cancels_run_in_large_barrier) {
  const auto g = wide_graph().compile();
  auto inside = door{};
  auto held = gate{};
  auto waits = ss::graph<numbers>{};
  waits.add(a, [&](const numbers&) -> ss::task<void> {
    auto passing = held.pass();
    co_await passing;
  });
  waits.edge(ss::start, a);
  const auto waiting_graph = waits.compile();
  auto wide = std::optional<background_run<sums>>{};
  auto error = std::error_code{};
  auto opener = std::thread{};
  {
    auto e = ss::engine{{.workers = 1}};
    const auto waiting = background_run<numbers>{e, waiting_graph, numbers{}};
    held.await_arrivals(1);
    hook.called = [&, is_first = std::make_shared<std::atomic<bool>>(true)] {
      if (is_first->exchange(false))
        inside.pass();
    };
    wide.emplace(e, g, sums{.n = many, .total = 0});
    inside.await_inside(1);
    opener = std::thread{[&] {
      error = wide->result().error->code; // the shutdown ends the run while the reducer waits
      inside.open();
    }};
  }
  opener.join();
  hook.called = nullptr;
  BOOST_TEST((error == ss::graph_errc::cancelled));
}

BOOST_AUTO_TEST_SUITE_END()

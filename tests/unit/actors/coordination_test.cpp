// SPDX-License-Identifier: Apache-2.0
// Events that reach a run at unusual moments: between the end of a step's last task and its
// barrier, while a job thread applies the step of a nested run, or after the run has ended.
#include "actors/engine_access.hpp"
#include "forwarding_checkpointer.hpp"
#include "graphs.hpp"

#include <superstep/checkpoint/memory_checkpointer.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

using namespace testing;
using namespace std::chrono_literals;

namespace coordination_types {

/// Called by the reducer for each write that is not 0; set by a test.
inline auto on_reduce = std::function<void()>{};

struct watched_sum {
  void operator()(int& into, int&& more) const {
    if (on_reduce && more != 0)
      on_reduce();
    into += more;
  }
};

struct wide {
  int n = 0;
  int total = 0;
  using reducers = ss::reducers<ss::by<&wide::total, watched_sum>>;
};
BOOST_DESCRIBE_STRUCT(wide, (), (n, total))

inline constexpr ss::node<wide> last{"last"}, inner{"inner"};
constexpr auto many = 5'000;

ss::graph<wide> wide_graph() {
  auto g = ss::graph<wide>{};
  g.add(worker, [](const int&) { return ss::update{ss::set<&wide::total>(1)}; });
  g.add(last, [](const wide& s) { return ss::update{ss::set<&wide::n>(s.total)}; });
  g.branch(ss::start, [](const wide& s) {
    auto all = ss::destinations{};
    for (auto i = 0; i < s.n; ++i)
      all.emplace_back(worker, i);
    return all;
  });
  g.edge(worker, last);
  return g;
}

ss::run_config on_thread(std::string id) {
  auto config = ss::run_config{};
  config.thread_id = std::move(id);
  return config;
}

/// A run that occupies no lane, so that another run of the lane is not its only one.
struct waiting_run {
  gate held;
  ss::compiled_graph<numbers> graph = [this] {
    auto g = ss::graph<numbers>{};
    g.add(a, [this](const numbers&) -> ss::task<void> {
      auto passing = held.pass();
      co_await passing;
    });
    g.edge(ss::start, a);
    return g.compile();
  }();
  background_run<numbers> run;
  explicit waiting_run(ss::engine& e) : run{e, graph, numbers{}} { held.await_arrivals(1); }
  waiting_run(const waiting_run&) = delete;
  waiting_run& operator=(const waiting_run&) = delete;
  ~waiting_run() {
    held.open();
    (void)run.result();
  }
};

} // namespace coordination_types

using namespace coordination_types;

BOOST_AUTO_TEST_SUITE(coordination)

BOOST_AUTO_TEST_CASE(cancelled_run_saves_step_applied_by_job) {
  auto e = ss::engine{{.workers = 1}};
  auto other = waiting_run{e};
  auto inside = door{};
  on_reduce = [&, is_first = std::make_shared<std::atomic<bool>>(true)] {
    if (is_first->exchange(false))
      inside.pass();
  };
  auto options = ss::compile_options{};
  options.checkpointer = ss::memory_checkpointer();
  const auto g = wide_graph().compile(std::move(options));
  auto run = background_run<wide>{e, g, wide{.n = many, .total = 0}, on_thread("t")};
  inside.await_inside(1);
  run.handle.cancel();
  inside.open();
  const auto ended = run.result();
  on_reduce = nullptr;
  BOOST_TEST_REQUIRE(ended.error.has_value());
  BOOST_TEST((ended.error->code == ss::graph_errc::cancelled));
  BOOST_TEST(ended.state.total == many);
  const auto at = e.get_state(g, on_thread("t"));
  BOOST_TEST_REQUIRE(at.values.has_value());
  BOOST_TEST(at.values->total == many);
}

BOOST_AUTO_TEST_CASE(cancelled_parent_waits_for_step_of_subgraph) {
  auto e = ss::engine{{.workers = 1}};
  auto other = waiting_run{e};
  auto inside = door{};
  on_reduce = [&, is_first = std::make_shared<std::atomic<bool>>(true)] {
    if (is_first->exchange(false))
      inside.pass();
  };
  auto outer = ss::graph<wide>{};
  outer.add(
      inner, wide_graph().compile(), [](const wide& s) { return s; },
      [](const wide& s) { return ss::update{ss::set<&wide::n>(s.total)}; });
  outer.edge(ss::start, inner);
  const auto g = outer.compile();
  auto run = background_run<wide>{e, g, wide{.n = many, .total = 0}};
  inside.await_inside(1);
  run.handle.cancel();
  run.handle.cancel();
  for (auto i = 0; i < 3; ++i) // the lane has handled the cancellation when these have run
    (void)e.debug().actors(run.handle);
  BOOST_TEST(!run.has_ended());
  inside.open();
  const auto ended = run.result();
  on_reduce = nullptr;
  BOOST_TEST_REQUIRE(ended.error.has_value());
  BOOST_TEST((ended.error->code == ss::graph_errc::cancelled));
}

BOOST_AUTO_TEST_CASE(debug_finds_call_of_slow_entry_branch) {
  auto e = ss::engine{{.workers = 1}};
  auto inside = door{};
  auto g = ss::graph<numbers>{};
  g.add(a, [](const numbers&) {});
  g.branch(ss::start,
           [&](const numbers&) {
             inside.pass();
             return ss::destinations{a};
           },
           {a});
  const auto graph = g.compile();
  auto run = background_run<numbers>{e, graph, numbers{}};
  inside.await_inside(1); // the branch occupies its thread, so another one takes over the lane
  const auto found = await_actor(
      e, run.handle, [](const ss::actor_info& info) { return info.kind == ss::actor_kind::tool; });
  BOOST_TEST(found.node == "__start__");
  BOOST_TEST((found.state == ss::call_state::running));
  inside.open();
  BOOST_TEST(!run.result().error.has_value());
}

BOOST_AUTO_TEST_CASE(retried_subgraph_ignores_step_of_first_attempt) {
  auto e = ss::engine{{.workers = 1}};
  auto other = waiting_run{e};
  auto inside = door{};
  auto reduced = std::atomic<int>{0};
  on_reduce = [&, is_first = std::make_shared<std::atomic<bool>>(true)] {
    if (is_first->exchange(false))
      inside.pass();
    ++reduced;
  };
  auto options = ss::node_options{};
  options.timeout.emplace().run = 2s;
  auto policy = ss::retry_policy{};
  policy.initial_interval = 0ms;
  policy.jitter = false;
  options.retry = {policy};
  auto outer = ss::graph<wide>{};
  outer.add(
      inner, wide_graph().compile(), [](const wide& s) { return s; },
      [](const wide& s) { return ss::update{ss::set<&wide::n>(s.total)}; }, options);
  outer.edge(ss::start, inner);
  auto saved = ss::compile_options{};
  saved.checkpointer = ss::memory_checkpointer();
  const auto g = outer.compile(std::move(saved));
  auto run = background_run<wide>{e, g, wide{.n = many, .total = 0}, on_thread("t")};
  const auto ended = run.result(); // the reducer of the first attempt is still waiting
  BOOST_TEST_REQUIRE(!ended.error.has_value());
  BOOST_TEST(ended.state.n == many);
  inside.open();
  while (reduced < 2 * many) // the first attempt still uses objects of this test
    std::this_thread::yield();
  on_reduce = nullptr;
}

BOOST_AUTO_TEST_CASE(cancel_before_barrier_keeps_ended_tasks) {
  // One step a turn, so that the order of the two runs on the lane is known. The watcher polls so
  // rarely that the lane waits for the bodies that block.
  auto e = ss::engine{{.workers = 1, .watcher_tick = 30s, .steps_per_turn = 1}};
  auto held = gate{};
  auto first = door{};
  auto second = door{};
  auto g = ss::graph<numbers>{};
  g.add(a, [&](const numbers&) -> ss::task<ss::update<numbers>> {
    auto passing = held.pass();
    co_await passing;
    co_return ss::update{ss::set<&numbers::total>(7)};
  });
  g.edge(ss::start, a);
  auto saved = ss::compile_options{};
  saved.checkpointer = ss::memory_checkpointer();
  const auto compiled = g.compile(std::move(saved));
  auto blocks = ss::graph<numbers>{};
  blocks.add(a, [&](const numbers& s) {
    first.pass();
    return add_one(s);
  });
  blocks.add(b, [&](const numbers& s) {
    second.pass();
    return add_one(s);
  });
  blocks.edge(ss::start, a).edge(a, b);
  const auto blocking = blocks.compile();

  auto run = background_run<numbers>{e, compiled, numbers{}, on_thread("t")};
  held.await_arrivals(1);
  auto other = background_run<numbers>{e, blocking, numbers{}};
  first.await_inside(1);
  held.open(); // the body of `run` is resumed after this turn of `other`
  first.open();
  second.await_inside(1); // the task of `run` has ended; its barrier comes after this turn
  run.handle.cancel();
  second.open();
  const auto ended = run.result();
  BOOST_TEST(!other.result().error.has_value());
  BOOST_TEST_REQUIRE(ended.error.has_value());
  BOOST_TEST((ended.error->code == ss::graph_errc::cancelled));
  BOOST_TEST(ended.state.total == 7);
  const auto at = e.get_state(compiled, on_thread("t"));
  BOOST_TEST_REQUIRE(at.values.has_value());
  BOOST_TEST(at.values->total == 7);
}

BOOST_AUTO_TEST_CASE(exit_of_idle_node_is_not_retried) {
  // The next step starts before the lane handles the notice of the exit.
  auto e = ss::engine{{.workers = 1, .watcher_tick = 30s}};
  auto held = gate{};
  auto stuck = door{};
  auto calls = std::atomic<int>{0};
  auto options = ss::node_options{};
  auto policy = ss::retry_policy{};
  policy.initial_interval = 0ms;
  policy.retry_on = [](const std::exception_ptr&) { return true; };
  options.retry = {policy};
  options.on_failure = [](const ss::body_input&, const ss::run_error&) {
    return std::optional<ss::node_output>{ss::node_output{}};
  };
  auto g = ss::graph<numbers>{};
  g.add(
      a,
      [&calls](const numbers& s) {
        ++calls;
        return add_one(s);
      },
      options);
  g.add(b, [&held](const numbers&) -> ss::task<void> {
    auto passing = held.pass();
    co_await passing;
  });
  g.add(c, [&stuck](const numbers& s) {
    stuck.pass();
    return add_one(s);
  });
  g.edge(ss::start, a).edge(a, b).edge(b, c).edge(c, a);
  const auto compiled = g.compile();
  auto run = background_run<numbers>{e, compiled, numbers{}};
  held.await_arrivals(1);
  const auto idle = await_actor(e, run.handle, [](const auto& i) { return i.node == "a"; }).actor;
  held.open();
  stuck.await_inside(1);
  auto down = std::promise<void>{};
  idle.monitor([&down] { down.set_value(); });
  idle.exit();
  down.get_future().get();
  stuck.open();
  const auto ended = run.result();
  BOOST_TEST_REQUIRE(ended.error.has_value());
  BOOST_TEST((ended.error->code == ss::graph_errc::actor_exited));
  BOOST_TEST(ended.error->node == "a");
  BOOST_TEST(calls.load() == 1);
}

BOOST_AUTO_TEST_CASE(forked_call_outlives_its_run) {
  // The runtime object of the forked work belongs to the call that has forked it. Its record must
  // not be used by another call while the work still runs.
  auto e = ss::engine{{.workers = 1}};
  auto stuck = door{};
  auto emitted = std::atomic<bool>{false};
  auto g = ss::graph<numbers>{};
  g.add(a, [&](const numbers&, ss::runtime rt) -> ss::task<void> {
    auto forks = std::vector<ss::task<int>>{};
    forks.push_back([](door& at, std::atomic<bool>& said, ss::runtime own) -> ss::task<int> {
      at.pass();
      own.emit("stray");
      said = true;
      co_return 0;
    }(stuck, emitted, rt));
    auto all = ss::when_all(std::move(forks));
    static_cast<void>(co_await all);
  });
  g.edge(ss::start, a);
  const auto forking = g.compile();
  auto held = gate{};
  auto listens = ss::graph<numbers>{};
  listens.add(a, [&held](const numbers&) -> ss::task<void> {
    auto passing = held.pass();
    co_await passing;
  });
  listens.edge(ss::start, a);
  const auto listening = listens.compile();

  auto run = background_run<numbers>{e, forking, numbers{}};
  stuck.await_inside(1);
  run.handle.cancel();
  BOOST_TEST(run.result().error.has_value());
  auto streams = std::vector<ss::state_stream<numbers>>{};
  for (auto i = 0; i < 4; ++i) // one of them would get the record of the first run's call
    streams.push_back(
        ss::detail::engine_access::stream(e, listening, numbers{}, ss::stream_mode::custom));
  held.await_arrivals(4);
  stuck.open();
  while (!emitted)
    std::this_thread::yield();
  held.open();
  for (auto& stream : streams)
    BOOST_TEST(!stream.next().has_value());
}

BOOST_AUTO_TEST_CASE(nested_runs_share_a_slow_reader) {
  auto e = ss::engine{{.workers = 1}};
  auto below = ss::graph<numbers>{};
  below.add(a, add_one);
  below.edge(ss::start, a).branch(a, [](const numbers& s) {
    return s.n < 20 ? ss::destination{a} : ss::destination{ss::end};
  });
  const auto child = below.compile();
  auto g = ss::graph<numbers>{};
  g.add(worker, [&child](const int&, ss::runtime rt) -> ss::task<ss::update<numbers>> {
    auto invoking = rt.invoke(child, numbers{});
    const auto out = co_await invoking;
    co_return ss::update{ss::set<&numbers::total>(out.n)};
  });
  g.branch(ss::start, fan_out);
  const auto compiled = g.compile();
  for (const auto buffer : {1U, 3U, 8U}) {
    auto stream = ss::detail::engine_access::stream(
        e, compiled, numbers{.n = 12, .total = 0, .seen = {}},
        ss::stream_mode::values | ss::stream_mode::subgraphs, {}, buffer);
    auto last_total = 0;
    while (const auto event = stream.next()) {
      std::this_thread::yield();
      if (!event->path || event->path->empty())
        last_total = event->values()->total;
    }
    BOOST_TEST(last_total == 240);
  }
}

BOOST_AUTO_TEST_CASE(sleep_until_a_past_time_returns) {
  auto e = ss::engine{{.workers = 1}};
  auto g = ss::graph<numbers>{};
  g.add(a, [](const numbers& s) -> ss::task<ss::update<numbers>> {
    const auto now = std::chrono::steady_clock::now();
    for (const auto when : {std::chrono::steady_clock::time_point{}, now - 1h,
                            std::chrono::steady_clock::time_point::min(), now}) {
      auto nap = ss::sleep_until{when};
      co_await nap;
    }
    co_return add_one(s);
  });
  g.edge(ss::start, a);
  BOOST_TEST(e.invoke(g.compile(), numbers{}).state.n == 1);
}

BOOST_AUTO_TEST_CASE(destructor_without_grace_period_ends_runs) {
  auto alive = std::weak_ptr<int>{};
  auto inside = door{};
  auto quick = ss::graph<numbers>{};
  quick.add(a, add_one).edge(ss::start, a);
  const auto short_run = quick.compile();
  auto g = ss::graph<numbers>{};
  auto held = gate{};
  g.add(a, [&](const numbers&) -> ss::task<void> {
    const auto object = std::make_shared<int>(1);
    alive = object;
    auto passing = held.pass();
    co_await passing;
  });
  g.edge(ss::start, a);
  const auto waiting = g.compile();
  {
    auto e = ss::engine{{.workers = 1, .shutdown_grace = 0ms}};
    e.submit(waiting, numbers{}, {}, [](const ss::run_result<numbers>&) {});
    held.await_arrivals(1);
    e.submit(short_run, numbers{}, {},
             [&inside](const ss::run_result<numbers>&) { inside.pass(); });
    inside.await_inside(1); // the lane is inside a callback, which it cannot leave behind
  }
  BOOST_TEST(!alive.expired());
  inside.open();
  while (!alive.expired()) // the lane ends its runs when the callback has returned
    std::this_thread::yield();
}

namespace {

/// A checkpointer that reports the end of each wait, and then throws.
class hasty_checkpointer final : public forwarding_checkpointer {
public:
  bool when_saved(const ss::thread_key&, std::function<void()> done) override {
    kept_.push_back(std::move(done));
    throw std::runtime_error{"hasty"};
  }
  /// Calls the kept functions and drops them: they own this checkpointer.
  void report() {
    for (auto& done : std::exchange(kept_, {}))
      done();
  }

private:
  std::vector<std::function<void()>> kept_;
};

} // namespace

BOOST_AUTO_TEST_CASE(checkpointer_that_answers_and_throws_ends_run_once) {
  for (const auto when : {ss::durability::sync, ss::durability::async}) {
    const auto checkpointer = std::make_shared<hasty_checkpointer>();
    auto g = ss::graph<numbers>{};
    g.add(a, add_one).edge(ss::start, a);
    auto options = ss::compile_options{};
    options.checkpointer = checkpointer;
    const auto compiled = g.compile(options);
    auto config = on_thread("t");
    config.thread.emplace().durability = when;
    auto called = std::atomic<int>{0};
    auto e = ss::engine{{.workers = 1}};
    auto ended = std::promise<std::string>{};
    e.submit(compiled, numbers{}, config, [&](const ss::run_result<numbers>& r) {
      if (++called == 1)
        ended.set_value(r.error ? r.error->text : std::string{});
    });
    BOOST_TEST(ended.get_future().get().find("hasty") != std::string::npos);
    checkpointer->report();
    BOOST_TEST(called.load() == 1);
  }
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: Apache-2.0
// CAF exit messages to actors of the engine. A caller that has an actor's handle may send one at
// any time. Only the call or run of that actor ends.
#include "graphs.hpp"

#include <superstep/checkpoint/memory_checkpointer.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>

using namespace testing;

BOOST_AUTO_TEST_SUITE(exits)

namespace {

/// Returns options of a node whose calls write 100 if their actor received an exit.
ss::node_options answers_for_the_killed() {
  auto options = ss::node_options{};
  options.on_failure = [](const ss::body_input&,
                          const ss::run_error& error) -> std::optional<ss::node_output> {
    if (error.code != ss::graph_errc::actor_exited)
      return std::nullopt;
    auto instead = ss::update{ss::set<&numbers::total>(100)};
    auto out = ss::node_output{};
    out.writes = std::move(instead.writes());
    return out;
  };
  return options;
}

bool is_exit_of(const ss::run_result<numbers>& r, std::string_view node, std::string_view task) {
  return r.error && r.error->code == ss::graph_errc::actor_exited && r.error->node == node &&
         r.error->task == task;
}

} // namespace

BOOST_AUTO_TEST_CASE(exit_of_idle_actor_ends_only_its_run) {
  auto e = ss::engine{{.workers = 1}};
  auto held = gate{};
  auto g = ss::graph<numbers>{};
  g.add(a, add_one).add(b, [&held](const numbers&) -> ss::task<void> { co_await held.pass(); });
  g.edge(ss::start, a).edge(a, b);
  const auto compiled = g.compile();
  auto victim = background_run<numbers>{e, compiled, numbers{}};
  auto other = background_run<numbers>{e, compiled, numbers{}};
  held.await_arrivals(2);
  await_actor(e, victim.handle, [](const auto& i) {
    return i.node == "a" && i.state == ss::call_state::idle;
  }).actor.exit();
  BOOST_TEST(is_exit_of(victim.result(), "a", "a"));
  held.open();
  BOOST_TEST(!other.result().error.has_value());
}

BOOST_AUTO_TEST_CASE(exit_of_suspended_node_actor_ends_its_run) {
  auto e = ss::engine{{.workers = 1}};
  auto held = gate{};
  auto g = ss::graph<numbers>{};
  g.add(a, [&held](const numbers&) -> ss::task<void> { co_await held.pass(); }).edge(ss::start, a);
  const auto compiled = g.compile();
  auto run = background_run<numbers>{e, compiled, numbers{}};
  held.await_arrivals(1);
  const auto info = await_actor(e, run.handle,
                                [](const auto& i) { return i.state == ss::call_state::suspended; });
  BOOST_TEST((info.kind == ss::actor_kind::node));
  info.actor.exit();
  BOOST_TEST(is_exit_of(run.result(), "a", "a"));
}

BOOST_AUTO_TEST_CASE(exit_of_tool_actor_ends_only_its_call) {
  auto e = ss::engine{{.workers = 2}};
  auto held = gate{};
  auto g = ss::graph<numbers>{};
  g.add(
      worker,
      [&held](const int&) -> ss::task<ss::update<numbers>> {
        co_await held.pass();
        co_return ss::update{ss::set<&numbers::total>(1)};
      },
      answers_for_the_killed());
  g.branch(ss::start, fan_out);
  const auto compiled = g.compile();
  auto run = background_run<numbers>{e, compiled, numbers{.n = 5, .total = 0, .seen = {}}};
  held.await_arrivals(5);
  const auto info = await_actor(e, run.handle, [](const auto& i) { return i.task == "worker#3"; });
  BOOST_TEST((info.kind == ss::actor_kind::tool));
  auto down = std::promise<void>{};
  info.actor.monitor([&down] { down.set_value(); });
  info.actor.exit();
  down.get_future().get();
  held.open();
  const auto ended = run.result();
  BOOST_TEST(!ended.error.has_value());
  BOOST_TEST(ended.state.total == 104);
}

BOOST_AUTO_TEST_CASE(exit_waits_for_body_running_on_lane) {
  // The watcher polls so rarely that the lane waits for the body instead of leaving it behind.
  auto e = ss::engine{{.workers = 1, .watcher_tick = std::chrono::seconds{30}}};
  auto held = gate{};
  auto stuck = door{};
  auto returned = std::atomic<bool>{false};
  auto g = ss::graph<numbers>{};
  g.add(a, [&](const numbers& s) {
    if (s.n > 0) {
      stuck.pass();
      returned = true;
    }
    return ss::update{ss::set<&numbers::n>(s.n + 1)};
  });
  g.add(b, [&held](const numbers&) -> ss::task<void> { co_await held.pass(); });
  g.edge(ss::start, a).edge(a, b).edge(b, a);
  const auto compiled = g.compile();
  auto run = background_run<numbers>{e, compiled, numbers{}};
  held.await_arrivals(1);
  const auto of_a = await_actor(e, run.handle, [](const auto& i) { return i.node == "a"; });
  held.open_once();
  stuck.await_inside(1);
  of_a.actor.exit();
  BOOST_TEST(!run.has_ended());
  stuck.open();
  BOOST_TEST(is_exit_of(run.result(), "a", "a"));
  BOOST_TEST(returned.load());
}

BOOST_AUTO_TEST_CASE(exit_ends_blocking_call_and_discards_its_result) {
  auto stuck = door{};
  auto out = std::atomic<int>{0};
  auto e = ss::engine{{.workers = 1}};
  auto g = ss::graph<numbers>{};
  g.add(
      worker,
      [&](const int& i) {
        if (i == 1) {
          stuck.pass();
          ++out;
        }
        return ss::update{ss::set<&numbers::total>(1)};
      },
      answers_for_the_killed());
  g.branch(ss::start, fan_out);
  const auto compiled = g.compile();
  auto run = background_run<numbers>{e, compiled, numbers{.n = 3, .total = 0, .seen = {}}};
  stuck.await_inside(1);
  await_actor(e, run.handle, [](const auto& i) {
    return i.task == "worker#1" && i.state == ss::call_state::running;
  }).actor.exit();
  const auto ended = run.result();
  BOOST_TEST(ended.state.total == 102);
  BOOST_TEST(out.load() == 0);
  stuck.open();
  while (out.load() == 0)
    std::this_thread::yield();
}

BOOST_AUTO_TEST_CASE(queued_call_does_not_start_after_exit) {
  // Two of the three threads block at the door, and the third serves the lane. By now the lane
  // knows that the calls are slow, so it queues the remaining ones.
  auto stuck = door{};
  auto bodies = std::atomic<int>{0};
  auto e = ss::engine{{.workers = 1, .threads_max = 3}};
  auto g = ss::graph<numbers>{};
  g.add(
      worker,
      [&](const int&) {
        ++bodies;
        stuck.pass();
        return ss::update{ss::set<&numbers::total>(1)};
      },
      answers_for_the_killed());
  g.branch(ss::start, fan_out);
  const auto compiled = g.compile();
  auto run = background_run<numbers>{e, compiled, numbers{.n = 6, .total = 0, .seen = {}}};
  const auto queued = await_actor(e, run.handle, [](const auto& i) {
    return i.task == "worker#4" && i.state == ss::call_state::queued;
  });
  auto down = std::promise<void>{};
  queued.actor.monitor([&down] { down.set_value(); });
  queued.actor.exit();
  down.get_future().get();
  BOOST_TEST(!e.debug().actors(run.handle).empty()); // returns after the lane processed the exit
  stuck.await_inside(2);
  stuck.open();
  const auto ended = run.result();
  BOOST_TEST(ended.state.total == 105);
  BOOST_TEST(bodies.load() == 5);
}

BOOST_AUTO_TEST_CASE(when_all_result_of_exited_coroutine_is_empty) {
  auto e = ss::engine{{.workers = 1}};
  auto held = gate{};
  auto g = ss::graph<numbers>{};
  g.add(a, [&held](const numbers&) -> ss::task<ss::update<numbers>> {
    auto forks = std::vector<ss::task<int>>{};
    for (auto i = 0; i < 3; ++i)
      forks.push_back(held.pass());
    const auto ended = co_await ss::when_all(std::move(forks));
    auto answered = 0;
    for (const auto& one : ended)
      answered += one.value.has_value() ? 1 : 0;
    co_return ss::update{ss::set<&numbers::total>(answered)};
  });
  g.edge(ss::start, a);
  const auto compiled = g.compile();
  auto run = background_run<numbers>{e, compiled, numbers{}};
  held.await_arrivals(3);
  const auto victim = await_actor(e, run.handle, [](const auto& i) {
    return i.kind == ss::actor_kind::tool && i.state == ss::call_state::suspended;
  });
  auto down = std::promise<void>{};
  victim.actor.monitor([&down] { down.set_value(); });
  victim.actor.exit();
  down.get_future().get();
  held.open();
  BOOST_TEST(run.result().state.total == 2);
}

BOOST_AUTO_TEST_CASE(when_all_discards_result_of_exited_blocking_call) {
  auto e = ss::engine{{.workers = 1}};
  auto stuck = door{};
  auto g = ss::graph<numbers>{};
  g.add(a, [&stuck](const numbers&) -> ss::task<ss::update<numbers>> {
    auto forks = std::vector<ss::task<int>>{};
    for (auto i = 0; i < 2; ++i)
      forks.push_back([](door& in, bool stays) -> ss::task<int> {
        if (stays)
          in.pass();
        co_return 1;
      }(stuck, i == 0));
    const auto ended = co_await ss::when_all(std::move(forks));
    stuck.open(); // a value that arrives from now on is discarded
    const auto answered = std::ranges::count_if(ended, [](const auto& x) { return !!x.value; });
    co_return ss::update{ss::set<&numbers::total>(static_cast<int>(answered))};
  });
  g.edge(ss::start, a);
  const auto compiled = g.compile();
  auto run = background_run<numbers>{e, compiled, numbers{}};
  stuck.await_inside(1);
  await_actor(e, run.handle, [](const auto& i) {
    return i.kind == ss::actor_kind::tool && i.state == ss::call_state::running;
  }).actor.exit();
  BOOST_TEST(run.result().state.total == 1);
}

BOOST_AUTO_TEST_CASE(on_failure_outputs_of_cancelled_run_are_applied) {
  auto e = ss::engine{{.workers = 1}};
  auto held = gate{};
  auto options = ss::node_options{};
  options.on_failure = [](const ss::body_input& in,
                          const ss::run_error& why) -> std::optional<ss::node_output> {
    const auto number = in.payload->as<int>();
    if (why.code != ss::graph_errc::cancelled || why.task != "worker#" + std::to_string(number))
      return std::nullopt;
    auto instead = ss::update{ss::set<&numbers::total>(number * 100)};
    auto out = ss::node_output{};
    out.writes = std::move(instead.writes());
    return out;
  };
  auto inner = ss::graph<numbers>{};
  inner.add(
      worker,
      [&held](const int& i) -> ss::task<ss::update<numbers>> {
        if (i > 0)
          co_await held.pass();
        co_return ss::update{ss::set<&numbers::total>(1)};
      },
      std::move(options));
  inner.branch(ss::start, fan_out);
  const auto small = inner.compile();
  const auto start = numbers{.n = 3, .total = 0, .seen = {}};
  auto run = background_run<numbers>{e, small, start};
  held.await_arrivals(2);
  run.handle.cancel();
  const auto ended = run.result();
  BOOST_REQUIRE(ended.error);
  BOOST_TEST((ended.error->code == ss::graph_errc::cancelled));
  BOOST_TEST(ended.state.total == 301);

  auto outer = ss::graph<numbers>{};
  auto kept = ss::compile_options{};
  kept.checkpointer = ss::memory_checkpointer();
  outer.add(
      a, small, [](const numbers& s) { return s; },
      [](const numbers& s) { return ss::update{ss::set<&numbers::total>(s.total)}; });
  outer.edge(ss::start, a);
  const auto whole = outer.compile(std::move(kept));
  auto config = ss::run_config{};
  config.thread_id = "t";
  auto nested = background_run<numbers>{e, whole, start, config};
  held.await_arrivals(4);
  nested.handle.cancel();
  BOOST_TEST(nested.result().error.has_value());
  held.open();
  const auto resumed = e.try_invoke(whole, ss::resume(), config); // the inner step is not run again
  BOOST_TEST(resumed.state.total == 301);
}

BOOST_AUTO_TEST_CASE(exit_of_run_coordinator_ends_its_run) {
  auto e = ss::engine{{.workers = 1}};
  auto held = gate{};
  auto g = ss::graph<numbers>{};
  g.add(a, [&held](const numbers&) -> ss::task<void> { co_await held.pass(); }).edge(ss::start, a);
  const auto compiled = g.compile();
  auto config = ss::run_config{};
  config.run_id = "the-run";
  auto run = background_run<numbers>{e, compiled, numbers{}, config};
  held.await_arrivals(1);
  await_actor(e, run.handle, [](const auto& i) {
    return i.kind == ss::actor_kind::coordinator;
  }).actor.exit();
  const auto ended = run.result();
  BOOST_TEST((ended.error->code == ss::graph_errc::actor_exited));
  BOOST_TEST(ended.error->text.find("the-run") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(exit_of_finished_call_affects_no_other_call) {
  // An actor is not reused while a handle to it exists, so an exit that arrives after the end of
  // its call cannot end another call.
  auto e = ss::engine{{.workers = 1}};
  auto held = gate{};
  auto g = ss::graph<numbers>{};
  g.add(worker, [&held](const int&) -> ss::task<void> { co_await held.pass(); });
  g.branch(ss::start, fan_out);
  const auto compiled = g.compile();
  auto first = background_run<numbers>{e, compiled, numbers{.n = 1, .total = 0, .seen = {}}};
  held.await_arrivals(1);
  const auto kept =
      await_actor(e, first.handle, [](const auto& i) { return i.kind == ss::actor_kind::tool; });
  held.open_once();
  BOOST_TEST(!first.result().error.has_value());
  auto second = background_run<numbers>{e, compiled, numbers{.n = 1, .total = 0, .seen = {}}};
  held.await_arrivals(2);
  kept.actor.exit();
  held.open();
  BOOST_TEST(!second.result().error.has_value());
}

BOOST_AUTO_TEST_CASE(actor_monitor_fires_only_for_its_own_call) {
  // The actor returns to a pool when its call ends; monitors of its end must not follow it there.
  for (const auto kind :
       {ss::actor_kind::coordinator, ss::actor_kind::node, ss::actor_kind::tool}) {
    auto e = ss::engine{{.workers = 1}};
    auto held = gate{};
    auto g = ss::graph<numbers>{};
    g.add(worker, [&held](const int&) -> ss::task<void> { co_await held.pass(); });
    g.add(a, [&held](const numbers&) -> ss::task<void> { co_await held.pass(); });
    g.edge(ss::start, a).branch(ss::start, fan_out);
    const auto compiled = g.compile();
    const auto input = numbers{.n = 2, .total = 0, .seen = {}};
    auto down = std::atomic<int>{0};
    auto first = background_run<numbers>{e, compiled, input};
    held.await_arrivals(3);
    auto watched = std::uint64_t{0};
    {
      const auto info =
          await_actor(e, first.handle, [kind](const auto& i) { return i.kind == kind; });
      watched = info.actor.id();
      info.actor.monitor([&down] { ++down; });
    }
    held.open_once();
    static_cast<void>(first.result());
    while (down == 0) // its call has ended, and so has the actor
      std::this_thread::yield();
    auto second = background_run<numbers>{e, compiled, input};
    held.await_arrivals(6);
    for (const auto& info : e.debug().actors(second.handle)) {
      BOOST_TEST(info.actor.id() != watched);
      info.actor.exit();
    }
    static_cast<void>(second.result());
    BOOST_TEST(down == 1);
  }
}

BOOST_AUTO_TEST_SUITE_END()

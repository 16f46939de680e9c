// SPDX-License-Identifier: Apache-2.0
// Basic runs of the engine: edges, joins, Sends, commands, coroutines, limits, errors and
// cancellation.
#include "graphs.hpp"

#include <boost/test/unit_test.hpp>

#include <sstream>
#include <stdexcept>
#include <string>

using namespace testing;

BOOST_AUTO_TEST_SUITE(engine)

BOOST_AUTO_TEST_CASE(chain_runs_each_node_once_in_order) {
  auto e = ss::engine{{.workers = 2}};
  auto g = ss::graph<numbers>{};
  const auto leaves = [](int mark) {
    return [mark](const numbers&) { return ss::update{ss::set<&numbers::seen>({mark})}; };
  };
  g.add(a, leaves(1)).add(b, leaves(2)).add(c, leaves(3));
  g.edge(ss::start, a).edge(a, b).edge(b, c).edge(c, ss::end);
  const auto seen = e.invoke(g.compile(), numbers{}).state.seen;
  BOOST_TEST(seen == (std::vector{1, 2, 3}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(join_edge_waits_for_all_sources) {
  auto e = ss::engine{{.workers = 1}};
  auto g = ss::graph<numbers>{};
  const auto one = [](const numbers&) { return ss::update{ss::set<&numbers::total>(1)}; };
  g.add(a, one).add(b, one).add(
      c, [](const numbers& s) { return ss::update{ss::set<&numbers::n>(s.total)}; });
  g.edge(ss::start, a).edge(ss::start, b).edge({a, b}, c);
  BOOST_TEST(e.invoke(g.compile(), numbers{}).state.n == 2);
}

BOOST_AUTO_TEST_CASE(updates_of_sends_are_applied_in_send_order) {
  auto e = ss::engine{{.workers = 2}};
  auto g = ss::graph<numbers>{};
  g.add(worker, [](const int& i) {
    return ss::update{ss::set<&numbers::seen>({i}), ss::set<&numbers::total>(i)};
  });
  g.branch(ss::start, fan_out);
  const auto out = e.invoke(g.compile(), numbers{.n = 1'000, .total = 0, .seen = {}}).state;
  BOOST_TEST(out.total == 499'500);
  BOOST_TEST_REQUIRE(out.seen.size() == 1'000U);
  for (auto i = 0; i < 1'000; ++i)
    BOOST_TEST_REQUIRE(out.seen[static_cast<std::size_t>(i)] == i);
}

BOOST_AUTO_TEST_CASE(command_updates_state_and_selects_next_nodes) {
  auto e = ss::engine{{.workers = 1}};
  auto g = ss::graph<numbers>{};
  g.add(a, [](const numbers&) {
    auto next = ss::command<numbers>{};
    next.update = ss::update{ss::set<&numbers::n>(5)};
    next.go_to = {ss::destination{worker, 7}, ss::destination{b}};
    return next;
  });
  g.add(worker, [](const int& i) { return ss::update{ss::set<&numbers::total>(i)}; });
  g.add(b, [](const numbers& s) { return ss::update{ss::set<&numbers::total>(s.n)}; });
  g.edge(ss::start, a);
  BOOST_TEST(e.invoke(g.compile(), numbers{}).state.total == 12);
}

BOOST_AUTO_TEST_CASE(suspended_coroutine_node_does_not_block_lane) {
  auto e = ss::engine{{.workers = 1}};
  auto held = gate{};
  auto g = ss::graph<numbers>{};
  g.add(a, [&held](const numbers& s) -> ss::task<ss::update<numbers>> {
    const auto more = co_await held.pass();
    co_return ss::update{ss::set<&numbers::n>(s.n + more)};
  });
  g.edge(ss::start, a);
  const auto waits = g.compile();
  auto plain = ss::graph<numbers>{};
  plain.add(a, add_one).edge(ss::start, a);
  auto run = background_run<numbers>{e, waits, numbers{.n = 1, .total = 0, .seen = {}}};
  held.await_arrivals(1);
  BOOST_TEST(e.invoke(plain.compile(), numbers{}).state.n == 1); // runs on the only lane
  held.open(41);
  BOOST_TEST(run.result().state.n == 42);
}

BOOST_AUTO_TEST_CASE(body_receives_config_and_runtime_of_its_run) {
  auto e = ss::engine{{.workers = 1}};
  auto g = ss::graph<numbers>{};
  g.add(a, [](const numbers&, const ss::run_config& config, ss::runtime rt) {
    const auto right = rt.node() == "a" && rt.step() == 1 && rt.remaining_steps() == 9 &&
                       config.thread_id == "t" && *rt.context<int>() == 5;
    return ss::update{ss::set<&numbers::n>(right ? 1 : 0)};
  });
  g.edge(ss::start, a);
  auto config = ss::run_config{};
  config.thread_id = "t";
  config.recursion_limit = 10;
  config.context = std::make_shared<const int>(5);
  BOOST_TEST(e.invoke(g.compile(), numbers{}, config).state.n == 1);
}

BOOST_AUTO_TEST_CASE(recursion_limit_not_above_chain_length_fails_run) {
  auto e = ss::engine{{.workers = 1}};
  auto g = ss::graph<numbers>{};
  g.add(a, add_one).add(b, add_one).edge(ss::start, a).edge(a, b);
  const auto compiled = g.compile();
  auto config = ss::run_config{};
  config.recursion_limit = 3;
  BOOST_TEST(e.invoke(compiled, numbers{}, config).state.n == 2);
  config.recursion_limit = 2;
  BOOST_CHECK_EXCEPTION(
      e.invoke(compiled, numbers{}, config), ss::graph_error, [](const ss::graph_error& x) {
        return x.code() == ss::graph_errc::recursion_limit &&
               std::string{x.what()}.find(
                   "Recursion limit of 2 reached without hitting a stop condition.") == 0;
      });
  config.recursion_limit = 0;
  BOOST_CHECK_THROW(e.invoke(compiled, numbers{}, config), ss::graph_error);
}

BOOST_AUTO_TEST_CASE(run_error_names_task_and_nests_body_exception) {
  auto e = ss::engine{{.workers = 1}};
  auto g = ss::graph<numbers>{};
  g.add(worker, [](const int& i) -> ss::update<numbers> {
    if (i == 2)
      throw std::invalid_argument{"no twos"};
    return {};
  });
  g.branch(ss::start, fan_out);
  try {
    e.invoke(g.compile(), numbers{.n = 4, .total = 0, .seen = {}});
    BOOST_FAIL("no exception");
  } catch (const ss::graph_error& x) {
    BOOST_TEST(x.node() == "worker");
    BOOST_TEST(x.step() == 1);
    auto printed = std::ostringstream{};
    printed << x.code();
    BOOST_TEST(printed.str() == "graph_errc::node_failed");
    BOOST_TEST(x.details().task == "worker#2");
    BOOST_TEST(std::string{x.what()}.find("no twos") != std::string::npos);
    BOOST_CHECK_THROW(std::rethrow_if_nested(x), std::invalid_argument);
  }
}

BOOST_AUTO_TEST_CASE(two_writes_to_field_without_reducer_fail_run) {
  auto e = ss::engine{{.workers = 1}};
  auto g = ss::graph<numbers>{};
  g.add(a, add_one).add(b, add_one).edge(ss::start, a).edge(ss::start, b);
  BOOST_CHECK_EXCEPTION(
      e.invoke(g.compile(), numbers{}), ss::graph_error, [](const ss::graph_error& x) {
        return std::string{x.what()}.find("At key 'n': Can receive only one value per step.") !=
               std::string::npos;
      });
}

BOOST_AUTO_TEST_CASE(on_failure_output_replaces_result_of_failed_task) {
  auto e = ss::engine{{.workers = 1}};
  auto g = ss::graph<numbers>{};
  auto options = ss::node_options{};
  options.on_failure = [](const ss::body_input&, const ss::run_error& error) {
    auto out = ss::node_output{};
    auto instead =
        ss::update{ss::set<&numbers::total>(error.code == ss::graph_errc::node_failed ? 100 : 0)};
    out.writes = std::move(instead.writes());
    return std::optional{std::move(out)};
  };
  g.add(
      worker,
      [](const int& i) -> ss::update<numbers> {
        if (i == 1)
          throw std::runtime_error{"one"};
        return ss::update{ss::set<&numbers::total>(1)};
      },
      options);
  g.branch(ss::start, fan_out);
  BOOST_TEST(e.invoke(g.compile(), numbers{.n = 3, .total = 0, .seen = {}}).state.total == 102);
}

BOOST_AUTO_TEST_CASE(cancel_ends_suspended_run) {
  auto e = ss::engine{{.workers = 1}};
  auto held = gate{};
  auto g = ss::graph<numbers>{};
  g.add(worker, [&held](const int&) -> ss::task<void> { co_await held.pass(); });
  g.branch(ss::start, fan_out);
  const auto compiled = g.compile();
  auto run = background_run<numbers>{e, compiled, numbers{.n = 10, .total = 0, .seen = {}}};
  held.await_arrivals(10);
  run.handle.cancel();
  BOOST_TEST((run.result().error->code == ss::graph_errc::cancelled));
  BOOST_TEST(e.debug().live_runs() == 0U);
}

BOOST_AUTO_TEST_CASE(cancelled_run_does_not_wait_for_blocking_body) {
  auto stuck = door{};
  auto asked = std::atomic<bool>{false};
  auto e = ss::engine{{.workers = 1}};
  auto g = ss::graph<numbers>{};
  g.add(a, [&](const numbers& s, ss::runtime rt) {
    stuck.pass();
    asked = rt.stop().stop_requested();
    return ss::update{ss::set<&numbers::n>(s.n + 1)}; // reads a state that the run has released
  });
  g.edge(ss::start, a);
  const auto compiled = g.compile();
  auto run = background_run<numbers>{e, compiled, numbers{}};
  stuck.await_inside(1);
  run.handle.cancel();
  BOOST_TEST((run.result().error->code == ss::graph_errc::cancelled));
  BOOST_TEST(!asked.load());
  stuck.open();
  while (!asked.load())
    std::this_thread::yield();
}

BOOST_AUTO_TEST_CASE(deadline_ends_suspended_run) {
  auto e = ss::engine{{.workers = 1}};
  auto held = gate{};
  auto g = ss::graph<numbers>{};
  g.add(a, [&held](const numbers&) -> ss::task<void> { co_await held.pass(); });
  g.edge(ss::start, a);
  auto config = ss::run_config{};
  config.deadline = std::chrono::milliseconds{5};
  BOOST_CHECK_EXCEPTION(
      e.invoke(g.compile(), numbers{}, config), ss::graph_error,
      [](const ss::graph_error& x) { return x.code() == ss::graph_errc::deadline; });
}

BOOST_AUTO_TEST_CASE(destroying_engine_ends_its_runs_with_error) {
  auto held = gate{};
  auto g = ss::graph<numbers>{};
  g.add(a, [&held](const numbers&) -> ss::task<void> { co_await held.pass(); });
  g.edge(ss::start, a);
  const auto compiled = g.compile();
  auto ended = std::promise<bool>{};
  {
    auto e = ss::engine{{.workers = 2}};
    e.submit(compiled, numbers{}, {},
             [&ended](ss::run_result<numbers> r) { ended.set_value(r.error.has_value()); });
    held.await_arrivals(1);
  }
  BOOST_TEST(ended.get_future().get());
  held.open(); // no coroutine waits any more
}

BOOST_AUTO_TEST_CASE(thousands_of_runs_complete_on_two_lanes) {
  auto e = ss::engine{{.workers = 2}};
  auto g = ss::graph<numbers>{};
  g.add(a, add_one).add(b, add_one).edge(ss::start, a).edge(a, b);
  const auto compiled = g.compile();
  constexpr auto runs = 2'000;
  auto left = std::atomic<int>{runs};
  auto total = std::atomic<int>{0};
  auto all = std::promise<void>{};
  for (auto i = 0; i < runs; ++i) {
    e.submit(compiled, numbers{}, {}, [&](ss::run_result<numbers> r) {
      total += r.state.n;
      if (--left == 0)
        all.set_value();
    });
  }
  all.get_future().get();
  BOOST_TEST(total.load() == 2 * runs);
}

BOOST_AUTO_TEST_SUITE_END()

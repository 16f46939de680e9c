// SPDX-License-Identifier: Apache-2.0
// Runs that stop and resume: interrupts, breakpoints, state updates and nested graphs.
#include "graphs.hpp"

#include <superstep/base/await.hpp>
#include <superstep/checkpoint/memory_checkpointer.hpp>
#include <superstep/threads/snapshot.hpp>

#include <boost/test/unit_test.hpp>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

using namespace testing;

BOOST_AUTO_TEST_SUITE(threads)

namespace {

namespace json = boost::json;

ss::compile_options kept() {
  auto options = ss::compile_options{};
  options.checkpointer = ss::memory_checkpointer();
  return options;
}

ss::run_config on(std::string thread) {
  auto config = ss::run_config{};
  config.thread_id = std::move(thread);
  return config;
}

ss::resume answer(json::value v) {
  auto said = ss::resume(std::move(v));
  return said;
}

numbers begin_with(int n) {
  auto state = numbers{};
  state.n = n;
  return state;
}

ss::task<ss::update<numbers>> ask_for_number(numbers state, ss::runtime rt) {
  auto asked = rt.interrupt("which number?");
  const auto said = co_await asked;
  co_return ss::update{
      ss::set<&numbers::n>(state.n + static_cast<int>(said.to_number<std::int64_t>()))};
}

/// A node that interrupts, followed by one that doubles.
ss::compiled_graph<numbers> asking(ss::compile_options options) {
  auto g = ss::graph<numbers>{};
  g.add(a, [](const numbers& s, ss::runtime rt) { return ask_for_number(s, std::move(rt)); });
  g.add(b, [](const numbers& s) { return ss::update{ss::set<&numbers::n>(2 * s.n)}; });
  g.edge(ss::start, a).edge(a, b);
  return g.compile(std::move(options));
}

} // namespace

BOOST_AUTO_TEST_CASE(graph_with_checkpointer_rejects_config_without_thread_id) {
  auto e = ss::engine{{.workers = 1}};
  const auto refused = e.try_invoke(asking(kept()), begin_with(1), ss::run_config{});
  BOOST_REQUIRE(refused.error);
  BOOST_TEST((refused.error->code == ss::errc::invalid_argument));
  BOOST_TEST(refused.error->text.find("has a checkpointer: set run_config::thread_id") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(states_without_thread_id_are_rejected) {
  auto e = ss::engine{{.workers = 1}};
  const auto graph = asking(kept());
  const auto unnamed = [](const ss::graph_error& error) {
    return error.code() == ss::errc::invalid_argument &&
           error.details().text.find("set run_config::thread_id") != std::string::npos;
  };
  const auto nowhere = ss::run_config{};
  BOOST_CHECK_EXCEPTION(e.get_state(graph, nowhere), ss::graph_error, unnamed);
  BOOST_CHECK_EXCEPTION(e.get_state_history(graph, nowhere), ss::graph_error, unnamed);
  const auto two = ss::update{ss::set<&numbers::n>(2)};
  BOOST_CHECK_EXCEPTION(e.update_state(graph, nowhere, two), ss::graph_error, unnamed);
  BOOST_CHECK_EXCEPTION(e.copy_state(graph, nowhere), ss::graph_error, unnamed);
}

BOOST_AUTO_TEST_CASE(interrupt_stops_run_and_answer_resumes_it) {
  auto e = ss::engine{{.workers = 2}};
  const auto graph = asking(kept());
  const auto stopped = e.try_invoke(graph, begin_with(1), on("t"));
  BOOST_REQUIRE((stopped.status == ss::run_status::interrupted));
  BOOST_TEST(stopped.interrupts.at(0).value.as_string() == "which number?");
  BOOST_TEST(!stopped.error);
  const auto ended = e.try_invoke(graph, answer(4), on("t"));
  BOOST_TEST((ended.status != ss::run_status::interrupted));
  BOOST_TEST(ended.state.n == 10);
}

BOOST_AUTO_TEST_CASE(another_engine_resumes_an_interrupted_thread) {
  const auto graph = asking(kept());
  {
    auto first = ss::engine{{.workers = 1}};
    BOOST_REQUIRE(
        (first.try_invoke(graph, begin_with(1), on("t")).status == ss::run_status::interrupted));
  }
  auto second = ss::engine{{.workers = 1}};
  BOOST_TEST(second.try_invoke(graph, answer(2), on("t")).state.n == 6);
}

BOOST_AUTO_TEST_CASE(ask_in_function_body_interrupts_the_run) {
  auto e = ss::engine{{.workers = 1}};
  auto g = ss::graph<numbers>{};
  g.add(a, [](const numbers&, const ss::runtime& rt) {
    const auto said = rt.ask("go on?");
    if (!said)
      return ss::update{ss::set<&numbers::n>(-1)};
    return ss::update{ss::set<&numbers::n>(said->as_bool() ? 1 : 0)};
  });
  g.edge(ss::start, a);
  const auto graph = g.compile(kept());
  const auto stopped = e.try_invoke(graph, begin_with(5), on("t"));
  BOOST_REQUIRE((stopped.status == ss::run_status::interrupted));
  BOOST_TEST(stopped.state.n == 5); // what the body returned without an answer is discarded
  BOOST_TEST(e.try_invoke(graph, answer(true), on("t")).state.n == 1);
}

BOOST_AUTO_TEST_CASE(run_without_checkpointer_interrupts_but_cannot_resume) {
  auto e = ss::engine{{.workers = 1}};
  const auto graph = asking({});
  BOOST_REQUIRE((e.try_invoke(graph, begin_with(1)).status == ss::run_status::interrupted));
  const auto refused = e.try_invoke(graph, answer(1), on("t"));
  BOOST_REQUIRE(refused.error);
  BOOST_TEST((refused.error->code == ss::graph_errc::no_checkpointer));
}

BOOST_AUTO_TEST_CASE(graph_with_checkpointer_rejects_run_without_config) {
  auto e = ss::engine{{.workers = 1}};
  const auto refused = e.try_invoke(asking(kept()), begin_with(1));
  BOOST_REQUIRE(refused.error);
  BOOST_TEST((refused.error->code == ss::errc::invalid_argument));
  BOOST_TEST(refused.error->text.find("thread_id") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(resume_value_with_unknown_interrupt_id_is_rejected) {
  auto e = ss::engine{{.workers = 1}};
  const auto graph = asking(kept());
  BOOST_REQUIRE(
      (e.try_invoke(graph, begin_with(1), on("t")).status == ss::run_status::interrupted));
  auto said = ss::resume({{"no such id", 1}});
  const auto refused = e.try_invoke(graph, std::move(said), on("t"));
  BOOST_REQUIRE(refused.error);
  BOOST_TEST((refused.error->code == ss::graph_errc::unknown_interrupt));
  BOOST_TEST(refused.error->text.find("'t'") != std::string::npos);
}

/// A command's writes are stored once, however many runs that start from it fail.
BOOST_AUTO_TEST_CASE(failed_runs_store_command_writes_once) {
  const auto command = [](int more) {
    return ss::command<numbers>{.update = ss::set<&numbers::total>(more)};
  };
  for (const auto when : {ss::durability::sync, ss::durability::async, ss::durability::exit}) {
    auto e = ss::engine{{.workers = 1}};
    auto config = on("t");
    config.thread.emplace().durability = when;
    auto fails = true;
    auto g = ss::graph<numbers>{};
    g.add(a, [&fails](const numbers& s) {
      if (fails)
        throw std::runtime_error{"not yet"};
      return ss::update{ss::set<&numbers::n>(s.total)};
    });
    g.edge(ss::start, a);
    const auto graph = g.compile(kept());
    BOOST_REQUIRE(e.try_invoke(graph, begin_with(1), config).error);
    BOOST_REQUIRE(e.try_invoke(graph, command(1), config).error);
    BOOST_REQUIRE(e.try_invoke(graph, ss::resume(), config).error);
    BOOST_REQUIRE(e.try_invoke(graph, command(10), config).error);
    BOOST_REQUIRE(e.try_invoke(graph, ss::resume(), config).error);
    fails = false;
    const auto ended = e.try_invoke(graph, ss::resume(), config);
    BOOST_REQUIRE(!ended.error);
    BOOST_TEST(ended.state.n == 11);
    BOOST_TEST(ended.state.total == 11);
  }
}

BOOST_AUTO_TEST_CASE(breakpoint_stops_run_before_node_until_resumed) {
  auto e = ss::engine{{.workers = 1}};
  auto options = kept();
  options.interrupt_before = {"b"};
  auto g = ss::graph<numbers>{};
  g.add(a, [](const numbers& s) { return ss::update{ss::set<&numbers::n>(s.n + 1)}; });
  g.add(b, [](const numbers& s) { return ss::update{ss::set<&numbers::n>(10 * s.n)}; });
  g.edge(ss::start, a).edge(a, b);
  const auto graph = g.compile(std::move(options));
  const auto stopped = e.try_invoke(graph, begin_with(1), on("t"));
  BOOST_REQUIRE((stopped.status == ss::run_status::interrupted));
  BOOST_TEST(stopped.interrupts.empty());
  BOOST_TEST(stopped.state.n == 2);
  BOOST_TEST(e.try_invoke(graph, ss::resume(), on("t")).state.n == 20);
}

BOOST_AUTO_TEST_CASE(resume_and_replay_continue_from_updated_thread_state) {
  auto e = ss::engine{{.workers = 1}};
  const auto graph = asking(kept());
  BOOST_REQUIRE(
      (e.try_invoke(graph, begin_with(1), on("t")).status == ss::run_status::interrupted));
  const auto place = ss::detail::thread_place{"t", {}, {}};
  const auto now = ss::detail::get_state(ss::detail::program_of(graph), place);
  BOOST_TEST(now.next == std::vector<std::string>{"a"}, boost::test_tools::per_element());
  BOOST_TEST(now.interrupts().size() == 1U);
  auto edit = ss::detail::state_edit{};
  edit.as_node = "a";
  edit.values.emplace().push_back({0, false, ss::value{7}});
  (void)ss::detail::update_state(ss::detail::program_of(graph), place, std::move(edit));
  BOOST_TEST(e.try_invoke(graph, ss::resume(), on("t")).state.n == 14);
  const auto history = ss::detail::state_history(ss::detail::program_of(graph), place);
  BOOST_REQUIRE(history.size() == 4U); // of the input, START, the state update, and b
  auto again = on("t");
  again.thread.emplace().checkpoint_id = history[1].checkpoint->id;
  BOOST_TEST(e.try_invoke(graph, ss::resume(), again).state.n == 14);
  BOOST_TEST(ss::detail::state_history(ss::detail::program_of(graph), place).size() ==
             6U); // two more: of the fork, and of the second run of b
}

BOOST_AUTO_TEST_CASE(resume_does_not_repeat_siblings_of_failed_task) {
  auto e = ss::engine{{.workers = 2}};
  auto runs = std::make_shared<std::atomic<int>>(0);
  auto fails = std::make_shared<std::atomic<bool>>(true);
  auto g = ss::graph<numbers>{};
  g.add(a, [fails](const numbers&) -> ss::update<numbers> {
    if (*fails)
      throw std::runtime_error{"down"};
    return {};
  });
  g.add(b, [runs](const numbers&) {
    ++*runs;
    return ss::update{ss::set<&numbers::n>(3)};
  });
  g.edge(ss::start, a).edge(ss::start, b);
  const auto graph = g.compile(kept());
  BOOST_TEST(e.try_invoke(graph, begin_with(0), on("t")).error->node == "a");
  *fails = false;
  BOOST_TEST(e.try_invoke(graph, ss::resume(), on("t")).state.n == 3);
  BOOST_TEST(runs->load() == 1);
}

BOOST_AUTO_TEST_CASE(interrupt_of_nested_graph_stops_parent_until_answered) {
  auto e = ss::engine{{.workers = 2}};
  auto g = ss::graph<numbers>{};
  g.add(
      c, asking({}), [](const numbers& s) { return s; },
      [](const numbers& s) { return ss::update{ss::set<&numbers::n>(s.n + 1)}; });
  g.edge(ss::start, c);
  const auto graph = g.compile(kept());
  const auto stopped = e.try_invoke(graph, begin_with(1), on("t"));
  BOOST_REQUIRE((stopped.status == ss::run_status::interrupted));
  BOOST_TEST(stopped.interrupts.size() == 1U);
  BOOST_TEST(e.try_invoke(graph, answer(4), on("t")).state.n == 11);
}

BOOST_AUTO_TEST_CASE(nested_failure_names_outer_node_and_keeps_exception) {
  auto e = ss::engine{{.workers = 1}};
  auto inner = ss::graph<numbers>{};
  inner.add(a, [](const numbers&) -> ss::update<numbers> { throw std::runtime_error{"deep"}; });
  inner.edge(ss::start, a);
  auto g = ss::graph<numbers>{};
  g.add(
      c, inner.compile(), [](const numbers& s) { return s; },
      [](const numbers&) { return ss::update<numbers>{}; });
  g.edge(ss::start, c);
  const auto failed = e.try_invoke(g.compile(), begin_with(1));
  BOOST_REQUIRE(failed.error);
  BOOST_TEST(failed.error->node == "c");
  BOOST_CHECK_THROW(std::rethrow_exception(failed.error->cause), std::runtime_error);
}

BOOST_AUTO_TEST_CASE(runs_of_many_saved_threads_resume_concurrently) {
  auto e = ss::engine{{.workers = 2}};
  auto g = ss::graph<numbers>{};
  g.add(
      c, asking({}), [](const numbers& s) { return s; },
      [](const numbers& s) { return ss::update{ss::set<&numbers::n>(s.n)}; });
  g.edge(ss::start, c);
  const auto graph = g.compile(kept());
  const auto all_at_once = [&](bool is_second) {
    auto sum = std::make_shared<std::atomic<int>>(0);
    auto left = std::make_shared<std::latch>(200);
    for (auto i = 0; i < 200; ++i) {
      const auto count = [sum, left](const ss::run_result<numbers>& ended) {
        *sum += ended.status == ss::run_status::interrupted ? 1 : 1'000;
        left->count_down();
      };
      if (is_second)
        e.submit(graph, answer(i), on("t" + std::to_string(i)), count);
      else
        e.submit(graph, begin_with(0), on("t" + std::to_string(i)), count);
    }
    left->wait();
    return sum->load();
  };
  BOOST_TEST(all_at_once(false) == 200);
  BOOST_TEST(all_at_once(true) == 200'000);
  BOOST_TEST(e.debug().live_runs() == 0U);
}

namespace {

/// A node that adds one and waits at a gate.
ss::compiled_graph<numbers> held_up(gate& at) {
  auto g = ss::graph<numbers>{};
  g.add(a, [&at](const numbers& s) -> ss::task<ss::update<numbers>> {
    auto waiting = at.pass();
    (void)co_await waiting;
    co_return ss::update{ss::set<&numbers::total>(1), ss::set<&numbers::n>(s.n)};
  });
  g.edge(ss::start, a);
  return g.compile(kept());
}

ss::run_config on_used(ss::busy_policy what) {
  auto config = on("t");
  config.thread.emplace().on_busy = what;
  return config;
}

} // namespace

BOOST_AUTO_TEST_CASE(second_run_on_a_thread_waits_for_first) {
  auto at = gate{};
  const auto graph = held_up(at);
  auto e = ss::engine{{.workers = 2}};
  auto first = e.stream(graph, numbers{}, ss::stream_mode::none, on("t"));
  at.await_arrivals(1);
  const auto next = ss::update{ss::set<&numbers::n>(0)};
  auto second = e.stream(graph, next, ss::stream_mode::none, on("t"));
  auto elsewhere = e.stream(graph, numbers{}, ss::stream_mode::none, on("other"));
  at.await_arrivals(2); // of the first run and the run on `other`; the second run waits for `t`
  at.open();
  BOOST_TEST(!first.next());
  BOOST_TEST(!second.next());
  BOOST_TEST(!elsewhere.next());
  const auto place = ss::detail::thread_place{"t", {}, {}};
  const auto now = e.get_state(graph, on("t"));
  BOOST_TEST(now.values->total == 2);
  BOOST_TEST(ss::detail::state_history(ss::detail::program_of(graph), place).size() == 6U);
}

BOOST_AUTO_TEST_CASE(on_busy_decides_which_of_two_runs_fails) {
  auto at = gate{};
  const auto graph = held_up(at);
  auto e = ss::engine{{.workers = 1}};
  auto first = e.stream(graph, numbers{}, ss::stream_mode::none, on("t"));
  at.await_arrivals(1);
  const auto refused = e.try_invoke(graph, numbers{}, on_used(ss::busy_policy::refuse));
  BOOST_REQUIRE(refused.error);
  BOOST_TEST((refused.error->code == ss::checkpoint_errc::in_use));
  BOOST_TEST(refused.error->text.starts_with("thread 't' is in use by another run"));
  auto taking = e.stream(graph, ss::update{ss::set<&numbers::n>(0)}, ss::stream_mode::none,
                         on_used(ss::busy_policy::take_over));
  at.await_arrivals(2);
  at.open();
  BOOST_TEST(!taking.next());
  const auto says_so = [](const ss::graph_error& error) {
    return error.code() == ss::checkpoint_errc::conflict &&
           std::string_view{error.what()}.find("taken over") != std::string_view::npos;
  };
  BOOST_CHECK_EXCEPTION((void)first.next(), ss::graph_error, says_so);
  const auto now = e.get_state(graph, on("t"));
  BOOST_TEST(now.values->total == 1);
}

BOOST_AUTO_TEST_SUITE_END()

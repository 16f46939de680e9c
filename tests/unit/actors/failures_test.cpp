// SPDX-License-Identifier: Apache-2.0
// Node timeouts, error handlers, commands to the parent graph, and streamed messages.
#include "actors/engine_access.hpp"
#include "graphs.hpp"

#include <superstep/checkpoint/memory_checkpointer.hpp>
#include <superstep/threads/snapshot.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace testing;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(failures)

namespace {

ss::node_options limited(ss::timeout_policy limit) {
  auto options = ss::node_options{};
  options.timeout = limit;
  return options;
}

ss::task<ss::update<numbers>> sleep_long(const numbers&) {
  auto nap = ss::sleep_for{60s};
  co_await nap;
  co_return ss::update{ss::set<&numbers::n>(1)};
}

ss::update<numbers> fail(const numbers&) {
  throw std::runtime_error{"broken"};
}

/// Runs the graph and returns the error it ends with.
ss::run_error error_of(const ss::compiled_graph<numbers>& graph, ss::run_config config = {}) {
  auto e = ss::engine{{.workers = 1}};
  try {
    static_cast<void>(e.invoke(graph, numbers{}, std::move(config)));
  } catch (const ss::graph_error& failed) {
    return failed.details();
  }
  return {};
}

/// Returns a graph whose node `a` runs `child` and whose node `c` copies `n` to `total`.
ss::compiled_graph<numbers> parent_around(ss::compiled_graph<numbers> child) {
  auto parent = ss::graph<numbers>{};
  parent.add(
      a, std::move(child), [](const numbers& s) { return s; },
      [](const numbers&) { return ss::update<numbers>{}; });
  parent.add(c, [](const numbers& s) { return ss::update{ss::set<&numbers::total>(s.n)}; });
  parent.edge(ss::start, a);
  return parent.compile();
}

} // namespace

BOOST_AUTO_TEST_CASE(node_timeout_fails_node_with_langgraphs_message) {
  auto g = ss::graph<numbers>{};
  g.add(a, sleep_long, limited({.run = 20ms}));
  g.edge(ss::start, a);
  const auto error = error_of(g.compile());
  BOOST_TEST((error.code == ss::graph_errc::node_timeout));
  BOOST_TEST(error.node == "a");
  BOOST_TEST(error.text.starts_with("Node 'a' exceeded its run timeout of 0.020s (elapsed: "));
  BOOST_CHECK_EXCEPTION(std::rethrow_exception(error.cause), ss::node_timeout_error,
                        [](const auto& e) {
                          return e.exceeded() == ss::node_timeout_error::kind::run &&
                                 e.limit() == 20ms && e.elapsed() >= 20ms;
                        });
}

BOOST_AUTO_TEST_CASE(timed_out_blocking_function_is_asked_to_stop) {
  auto stopped = std::make_shared<std::atomic<bool>>(false);
  auto g = ss::graph<numbers>{};
  g.add(
      a,
      [stopped](const numbers&, const ss::runtime& rt) {
        while (!rt.stop().stop_requested())
          std::this_thread::sleep_for(1ms);
        *stopped = true;
        return ss::update{ss::set<&numbers::n>(1)};
      },
      limited({.run = 20ms}));
  g.edge(ss::start, a);
  BOOST_TEST((error_of(g.compile()).code == ss::graph_errc::node_timeout));
  BOOST_TEST(*stopped); // the engine is destroyed, and every body with it
}

BOOST_AUTO_TEST_CASE(idle_timeout_fires_only_without_progress) {
  const auto beat = [](int beats) {
    return [beats](const numbers&, ss::runtime rt) -> ss::task<ss::update<numbers>> {
      for (auto i = 0; i < beats; ++i) {
        auto nap = ss::sleep_for{25ms};
        co_await nap;
        rt.heartbeat();
      }
      auto silence = ss::sleep_for{beats == 0 ? 60s : 1ms};
      co_await silence;
      co_return ss::update{ss::set<&numbers::n>(beats)};
    };
  };
  auto lively = ss::graph<numbers>{};
  lively.add(a, beat(8), limited({.idle = 100ms}));
  lively.edge(ss::start, a);
  auto e = ss::engine{{.workers = 1}};
  BOOST_TEST(e.invoke(lively.compile(), numbers{}).state.n == 8);

  auto silent = ss::graph<numbers>{};
  silent.add(a, beat(0), limited({.idle = 30ms}));
  silent.edge(ss::start, a);
  BOOST_TEST(error_of(silent.compile())
                 .text.starts_with("Node 'a' exceeded its idle timeout of 0.030s without making "
                                   "progress (elapsed: "));
}

/// The reader reads nothing for longer than the idle timeout, while the nested run waits for it.
BOOST_AUTO_TEST_CASE(wait_for_slow_reader_does_not_count_as_idle) {
  for (const auto only : {false, true}) {
    auto inner = ss::graph<numbers>{};
    inner.add(a, add_one).edge(ss::start, a);
    inner.branch(a, [](const numbers& s) {
      return s.n < 8 ? ss::destination{a} : ss::destination{ss::end};
    });
    auto g = ss::graph<numbers>{};
    g.add("nested", inner.compile(), limited({.idle = 80ms, .heartbeats_only = only}));
    g.edge(ss::start, ss::node<numbers>{"nested"});
    auto e = ss::engine{{.workers = 1}};
    auto stream = ss::detail::engine_access::stream(
        e, g.compile(), numbers{}, ss::stream_mode::values | ss::stream_mode::subgraphs, {}, 2);
    for (auto read = 0; stream.next(); ++read)
      if (read == 2)
        std::this_thread::sleep_for(300ms);
    BOOST_TEST(!stream.result().error.has_value());
    BOOST_TEST(stream.result().stats.steps == 1);
  }
}

BOOST_AUTO_TEST_CASE(emitted_events_count_as_progress_unless_heartbeats_only) {
  const auto emitting = [](const numbers&, ss::runtime rt) -> ss::task<ss::update<numbers>> {
    for (auto i = 0; i < 10; ++i) {
      auto nap = ss::sleep_for{20ms};
      co_await nap;
      rt.emit(i);
    }
    co_return ss::update{ss::set<&numbers::n>(1)};
  };
  for (const auto only : {false, true}) {
    auto g = ss::graph<numbers>{};
    g.add(a, emitting, limited({.idle = 100ms, .heartbeats_only = only}));
    g.edge(ss::start, a);
    BOOST_TEST((error_of(g.compile()).code == ss::graph_errc::node_timeout) == only);
  }
}

BOOST_AUTO_TEST_CASE(retry_policy_retries_timed_out_attempt_by_default) {
  auto options = limited({.run = 30ms});
  options.retry = {ss::retry_policy{.initial_interval = 1ms, .jitter = false, .retry_on = {}}};
  auto g = ss::graph<numbers>{};
  g.add(
      a,
      [](const numbers&, ss::runtime rt) -> ss::task<ss::update<numbers>> {
        auto nap = ss::sleep_for{rt.attempt() < 3 ? 60s : 0s};
        co_await nap;
        co_return ss::update{ss::set<&numbers::n>(static_cast<int>(rt.attempt()))};
      },
      std::move(options));
  g.edge(ss::start, a);
  auto e = ss::engine{{.workers = 1}};
  BOOST_TEST(e.invoke(g.compile(), numbers{}).state.n == 3);
}

BOOST_AUTO_TEST_CASE(timeout_set_for_send_fails_its_task) {
  auto g = ss::graph<numbers>{};
  g.add(worker, [](const int& ms, ss::runtime) -> ss::task<ss::update<numbers>> {
    auto nap = ss::sleep_for{std::chrono::milliseconds{ms}};
    co_await nap;
    co_return ss::update{ss::set<&numbers::seen>({ms})};
  });
  g.branch(ss::start, [](const numbers&) {
    auto to = ss::destinations{};
    to.push_back(ss::destination{worker, 1});
    to.push_back(ss::destination{worker, 60'000}.within(20ms));
    return to;
  });
  const auto error = error_of(g.compile());
  BOOST_TEST((error.code == ss::graph_errc::node_timeout));
  BOOST_TEST(error.task == "worker#1");
}

BOOST_AUTO_TEST_CASE(error_handler_of_failed_node_selects_next_node) {
  auto said = std::string{};
  auto g = ss::graph<numbers>{};
  g.add(a, fail);
  g.add(b, [](const numbers& s) { return ss::update{ss::set<&numbers::n>(s.n + 100)}; });
  g.add(c, [](const numbers& s) { return ss::update{ss::set<&numbers::n>(s.n + 1'000)}; });
  g.edge(ss::start, a).edge(a, b); // the edge of a failed node does not fire
  g.on_error(a, [&said](const numbers& s, const ss::runtime& rt) {
    said = rt.failure()->text;
    return ss::command<numbers>{ss::set<&numbers::n>(s.n + 10), {c}};
  });
  auto e = ss::engine{{.workers = 1}};
  auto run = ss::detail::engine_access::stream(
      e, g.compile(), numbers{.n = 1, .total = 0, .seen = {}}, ss::stream_mode::updates);
  auto names = std::vector<std::string>{};
  while (const auto event = run.next())
    names.push_back(event->node);
  BOOST_TEST(names == (std::vector<std::string>{"__error_handler__a", "c"}),
             boost::test_tools::per_element());
  BOOST_TEST(said.find("broken") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(error_handler_of_failed_send_receives_its_payload) {
  auto g = ss::graph<numbers>{};
  g.add(worker, [](const int& number) -> ss::update<numbers> {
    if (number % 2 == 1)
      throw std::runtime_error{"odd"};
    return ss::update{ss::set<&numbers::seen>({number})};
  });
  g.on_error(worker,
             [](const int& number) { return ss::update{ss::set<&numbers::seen>({-number})}; });
  g.branch(ss::start, fan_out);
  auto e = ss::engine{{.workers = 2}};
  const auto out = e.invoke(g.compile(), numbers{.n = 5, .total = 0, .seen = {}}).state;
  BOOST_TEST(out.seen == (std::vector<int>{0, -1, 2, -3, 4}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(default_error_handler_covers_nodes_without_a_handler) {
  auto g = ss::graph<numbers>{};
  g.add(a, fail).add(b, fail).edge(ss::start, a).edge(ss::start, b);
  g.on_error(a.name, [](const numbers&) { return ss::update{ss::set<&numbers::n>(1)}; });
  g.on_error([](const numbers&) { return ss::update{ss::set<&numbers::total>(2)}; });
  auto e = ss::engine{{.workers = 1}};
  const auto out = e.invoke(g.compile(), numbers{}).state;
  BOOST_TEST(out.n == 1);
  BOOST_TEST(out.total == 2);
}

BOOST_AUTO_TEST_CASE(failing_default_error_handler_is_named_in_error) {
  auto worse = ss::graph<numbers>{};
  worse.add(a, fail).edge(ss::start, a);
  worse.on_error([](const numbers&) -> ss::update<numbers> { throw std::runtime_error{"too"}; });
  const auto error = error_of(worse.compile());
  BOOST_TEST(error.node == "__default_error_handler__");
  BOOST_TEST(error.text.find("too") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(resume_repeats_failed_error_handler_not_its_node) {
  auto starts = std::make_shared<std::atomic<int>>(0);
  auto is_repaired = std::make_shared<std::atomic<bool>>(false);
  auto g = ss::graph<numbers>{};
  g.add(a, [starts](const numbers&) -> ss::update<numbers> {
    ++*starts;
    throw std::runtime_error{"broken"};
  });
  g.edge(ss::start, a);
  g.on_error(a, [is_repaired](const numbers&, const ss::runtime& rt) {
    if (!*is_repaired)
      throw std::runtime_error{"the handler, too"};
    return ss::update{ss::set<&numbers::n>(static_cast<int>(rt.failure()->text.size()))};
  });
  const auto graph = g.compile({.checkpointer = ss::memory_checkpointer()});
  auto on_thread = ss::run_config{};
  on_thread.thread_id = "t";
  BOOST_TEST(error_of(graph, on_thread).text.find("the handler, too") != std::string::npos);
  *is_repaired = true;
  auto e = ss::engine{{.workers = 1}};
  const auto again = e.try_invoke(graph, ss::resume(), on_thread);
  BOOST_TEST_REQUIRE(!again.error);
  BOOST_TEST(again.state.n > 0);
  BOOST_TEST(*starts == 1);
}

BOOST_AUTO_TEST_CASE(error_handler_asks_its_own_question) {
  auto g = ss::graph<numbers>{};
  g.add(a, [](numbers, ss::runtime rt) -> ss::task<ss::update<numbers>> {
    auto asked = rt.interrupt("of the node");
    const auto answer = co_await asked;
    throw std::runtime_error{"broken by " + ss::to_text(answer)};
  });
  g.edge(ss::start, a);
  g.on_error(a, [](numbers, ss::runtime rt) -> ss::task<ss::update<numbers>> {
    auto asked = rt.interrupt("of the handler");
    const auto answer = co_await asked;
    co_return ss::update{ss::set<&numbers::n>(static_cast<int>(answer.as_int64()))};
  });
  const auto graph = g.compile({.checkpointer = ss::memory_checkpointer()});
  auto on_thread = ss::run_config{};
  on_thread.thread_id = "t";
  auto e = ss::engine{{.workers = 1}};
  const auto question_of = [](const ss::run_result<numbers>& out) {
    return out.interrupts.size() == 1 ? std::string{out.interrupts[0].value.as_string()} : "";
  };
  const auto first = e.try_invoke(graph, numbers{}, on_thread);
  BOOST_TEST(question_of(first) == "of the node");
  const auto second = e.try_invoke(graph, ss::resume(1), on_thread);
  BOOST_TEST_REQUIRE(question_of(second) == "of the handler");
  BOOST_TEST(second.interrupts[0].id != first.interrupts[0].id);
  const auto third = e.try_invoke(graph, ss::resume({{second.interrupts[0].id, 2}}), on_thread);
  BOOST_TEST_REQUIRE(!third.error);
  BOOST_TEST(third.interrupts.empty());
  BOOST_TEST(third.state.n == 2);
}

BOOST_AUTO_TEST_CASE(rejects_duplicate_error_handlers_and_handlers_without_node) {
  auto g = ss::graph<numbers>{};
  g.add(a, fail).edge(ss::start, a);
  g.on_error(b, fail);
  g.on_error(a, fail).on_error(a, fail);
  const auto names_both = [](const ss::compile_error& e) {
    const auto text = std::string{e.what()};
    return text.find("an error handler is set for node 'b', which does not exist") !=
               std::string::npos &&
           text.find("node 'a' already has an error handler") != std::string::npos;
  };
  BOOST_CHECK_EXCEPTION(static_cast<void>(g.compile()), ss::compile_error, names_both);
}

BOOST_AUTO_TEST_CASE(graph_defaults_apply_to_unset_node_options) {
  auto g = ss::graph<numbers>{};
  g.defaults(limited({.run = 20ms}));
  g.add(a, sleep_long).edge(ss::start, a);
  BOOST_TEST((error_of(g.compile()).code == ss::graph_errc::node_timeout));
}

BOOST_AUTO_TEST_CASE(command_to_parent_ends_child_and_routes_parent) {
  auto child = ss::graph<numbers>{};
  child.add(a, [](const numbers& s) {
    return ss::parent_command<numbers>{ss::set<&numbers::n>(s.n + 1), {c}};
  });
  child.add(b, fail); // never reached
  child.edge(ss::start, a).edge(a, b);
  auto e = ss::engine{{.workers = 1}};
  const auto out =
      e.invoke(parent_around(child.compile()), numbers{.n = 4, .total = 0, .seen = {}}).state;
  BOOST_TEST(out.n == 5);
  BOOST_TEST(out.total == 5);
}

BOOST_AUTO_TEST_CASE(parent_command_of_another_state_type_fails_run) {
  struct other {};
  auto stranger = ss::graph<numbers>{};
  stranger.add(a, [](const numbers&) { return ss::parent_command<other>{}; });
  stranger.edge(ss::start, a);
  BOOST_TEST(error_of(parent_around(stranger.compile({.name = "below"})))
                 .text.find("graph 'below' returned a command to its parent") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(node_tagged_nostream_streams_no_messages) {
  const auto speak = [](const numbers&, const ss::runtime& rt) {
    if (rt.streams_messages())
      rt.emit_message(ss::value{std::string{"from "} + std::string{rt.node()}});
    return ss::update{ss::set<&numbers::n>(1)};
  };
  auto silent = ss::node_options{};
  silent.tags = {"nostream"};
  auto g = ss::graph<numbers>{};
  g.add(a, speak).add(b, speak, std::move(silent)).edge(ss::start, a).edge(a, b);
  const auto graph = g.compile();
  auto e = ss::engine{{.workers = 1}};
  auto run = ss::detail::engine_access::stream(e, graph, numbers{}, ss::stream_mode::messages);
  auto heard = std::vector<std::string>{};
  while (const auto event = run.next()) {
    BOOST_TEST((event->mode == ss::stream_mode::messages));
    BOOST_TEST(event->step == 1);
    heard.push_back(event->message.as<std::string>());
  }
  BOOST_TEST(heard == (std::vector<std::string>{"from a"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

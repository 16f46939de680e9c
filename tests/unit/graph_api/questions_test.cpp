// SPDX-License-Identifier: Apache-2.0
// Interrupts and breakpoints, and their effect on the rest of the step. Comments give the
// behaviours of docs/behaviours.md that a test covers.
#include "graph_api/json_runs.hpp"

#include <superstep/base/await.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <stdexcept>

using namespace graph_api;

BOOST_AUTO_TEST_SUITE(interrupts)

namespace {

/// A node that interrupts twice.
ss::task<json::object> ask_twice(ss::runtime rt) {
  auto first = rt.interrupt("one");
  const auto one = co_await first;
  auto second = rt.interrupt("two");
  const auto two = co_await second;
  auto out = json::object{};
  out["log"] = json::array{one, two};
  co_return out;
}

ss::compiled_json_graph twice_asking(ss::compile_options options = kept()) {
  auto g = logging({});
  g.add("a", [](const json::value&, ss::runtime rt) { return ask_twice(std::move(rt)); });
  g.edge("__start__", "a");
  return g.compile(std::move(options));
}

ss::compiled_json_graph around(ss::compiled_json_graph inner, ss::compile_options options = {}) {
  auto g = logging({});
  g.add("sub", std::move(inner)).edge("__start__", "sub");
  return g.compile(std::move(options));
}

ss::compiled_json_graph asking_for(const char* what, ss::compile_options options = {}) {
  auto g = logging({});
  g.add("ask", asks(what)).edge("__start__", "ask");
  return g.compile(std::move(options));
}

} // namespace

// B033, B169: the id of an interrupt is the same in another engine and differs for the next
// interrupt.
BOOST_AUTO_TEST_CASE(interrupt_keeps_its_id_across_engines) {
  const auto graph = twice_asking();
  auto ids = std::vector<std::string>{};
  for (const auto is_new : {true, false}) {
    auto e = ss::engine{{.workers = 1}};
    const auto stopped =
        is_new ? run(e, graph, json::object{}, on("t")) : run(e, graph, ss::resume(), on("t"));
    ids.push_back(stopped.raw.interrupts.at(0).id);
  }
  BOOST_TEST(ids[0] == ids[1]);
  auto e = ss::engine{{.workers = 1}};
  const auto second = run(e, graph, answer(1), on("t"));
  BOOST_TEST(second.raw.interrupts.at(0).value.as_string() == "two");
  BOOST_TEST(second.raw.interrupts.at(0).id != ids[0]);
  BOOST_TEST(json::serialize(run(e, graph, answer(2), on("t")).state.at("log")) == "[1,2]");
}

// B173: LangGraph ignores answers without a pending interrupt; here that is an option.
BOOST_AUTO_TEST_CASE(ignoring_unknown_ids_skips_answers_to_unknown_interrupts) {
  auto e = ss::engine{{.workers = 1}};
  const auto graph = asking_for("?", kept());
  const auto stopped = run(e, graph, json::object{}, on("t"));
  auto said = ss::resume({{"nobody's", 1}, {stopped.raw.interrupts.at(0).id, "yes"}})
                  .ignoring_unknown_ids();
  BOOST_TEST(log_of(run(e, graph, std::move(said), on("t"))) == "yes");
}

// Covers behaviour B180.
BOOST_AUTO_TEST_CASE(answer_reaches_interrupt_in_nested_subgraph) {
  auto e = ss::engine{{.workers = 2}};
  const auto graph = around(around(asking_for("deep")), kept());
  const auto stopped = run(e, graph, json::object{}, on("t"));
  BOOST_TEST_REQUIRE((stopped.raw.status == ss::run_status::interrupted));
  BOOST_TEST_REQUIRE(stopped.raw.interrupts.size() == 1U);
  BOOST_TEST(stopped.raw.interrupts.front().value.as_string() == "deep");
  BOOST_TEST(log_of(run(e, graph, answer("down"), on("t"))) == "down");
}

BOOST_AUTO_TEST_CASE(interrupts_of_parallel_tasks_are_listed_in_task_order) {
  auto e = ss::engine{{.workers = 2}};
  auto g = logging({});
  g.add("a", [](const json::value&, ss::runtime rt) -> ss::task<json::object> {
    co_await ss::sleep_for{std::chrono::milliseconds{20}};
    auto asked = rt.interrupt("late");
    co_await asked;
    co_return json::object{};
  });
  g.add("b", asks("early"));
  g.edge("__start__", "b").edge("__start__", "a");
  const auto stopped = run(e, g.compile(kept()), json::object{}, on("t"));
  BOOST_TEST_REQUIRE(stopped.raw.interrupts.size() == 2U);
  BOOST_TEST(stopped.raw.interrupts[0].value.as_string() == "late");
  BOOST_TEST(stopped.raw.interrupts[1].value.as_string() == "early");
}

// B181: each subgraph has its own interrupt; one is answered now, the other later.
BOOST_AUTO_TEST_CASE(parallel_subgraph_interrupts_are_answered_separately) {
  auto e = ss::engine{{.workers = 2}};
  auto g = logging({});
  g.add("left", asking_for("left?")).add("right", asking_for("right?"));
  g.edge("__start__", "left").edge("__start__", "right");
  const auto graph = g.compile(kept());
  const auto stopped = run(e, graph, json::object{}, on("t"));
  BOOST_TEST_REQUIRE(stopped.raw.interrupts.size() == 2U);
  for (const auto& q : stopped.raw.interrupts) {
    auto said = ss::resume({{q.id, q.value.as_string() == "left?" ? "L" : "R"}});
    const auto next = run(e, graph, std::move(said), on("t"));
    BOOST_TEST(!next.raw.error.has_value());
    if (next.raw.status == ss::run_status::finished)
      BOOST_TEST(log_of(next) == "L R");
    else
      BOOST_TEST(next.raw.interrupts.size() == 1U);
  }
  BOOST_TEST(e.get_state(graph, on("t")).next.empty());
}

// Covers behaviour B182.
BOOST_AUTO_TEST_CASE(failed_sibling_fails_run_and_keeps_interrupt_pending) {
  auto e = ss::engine{{.workers = 1}};
  auto fails = true;
  auto g = logging({});
  g.add("ask", asks("well?"));
  g.add("fail", [&](const json::value&) -> json::object {
    if (fails)
      throw std::runtime_error{"down"};
    return {};
  });
  g.edge("__start__", "ask").edge("__start__", "fail");
  const auto graph = g.compile(kept());
  const auto failed = run(e, graph, json::object{}, on("t"));
  BOOST_TEST_REQUIRE(failed.raw.error.has_value());
  BOOST_TEST(failed.raw.error->node == "fail");
  BOOST_TEST(e.get_state(graph, on("t")).interrupts().size() == 1U);
  fails = false;
  BOOST_TEST(log_of(run(e, graph, answer("so"), on("t"))) == "so");
}

// B186, B185, B184: the run stops at each breakpoint once and passes it when it is resumed.
BOOST_AUTO_TEST_CASE(each_breakpoint_stops_the_run_only_once) {
  auto e = ss::engine{{.workers = 1}};
  auto g = logging({"a", "b"});
  g.sequence({"__start__", "a", "b"});
  auto options = kept();
  options.interrupt_before = {"*"};
  options.interrupt_after = {"a"};
  const auto graph = g.compile(std::move(options));
  auto stops = 0;
  auto last = run(e, graph, json::object{}, on("t"));
  for (; last.raw.status == ss::run_status::interrupted; ++stops)
    last = run(e, graph, ss::resume(), on("t"));
  // One stop is before a. The stops after a and before b are one, because nothing runs in between.
  BOOST_TEST(stops == 2);
  BOOST_TEST(log_of(last) == "a b");
}

// Covers behaviour B187.
BOOST_AUTO_TEST_CASE(breakpoint_keeps_pending_sends) {
  auto e = ss::engine{{.workers = 1}};
  auto g = logging({});
  g.add("w", [](const json::value& in) { return json::object{{"log", json::array{in}}}; });
  g.branch("__start__", [](const json::value&) {
    return std::vector<ss::json_target>{{"w", json::value("x")}, {"w", json::value("y")}};
  });
  auto options = kept();
  options.interrupt_before = {"w"};
  const auto graph = g.compile(std::move(options));
  const auto stopped = run(e, graph, json::object{}, on("t"));
  BOOST_TEST_REQUIRE((stopped.raw.status == ss::run_status::interrupted));
  BOOST_TEST(e.get_state(graph, on("t")).next.size() == 2U);
  BOOST_TEST(log_of(run(e, graph, ss::resume(), on("t"))) == "x y");
}

// Covers behaviour B189.
BOOST_AUTO_TEST_CASE(resume_of_finished_thread_runs_nothing) {
  auto e = ss::engine{{.workers = 1}};
  auto g = logging({"a"});
  g.edge("__start__", "a");
  const auto graph = g.compile(kept());
  BOOST_TEST(log_of(run(e, graph, json::object{}, on("t"))) == "a");
  const auto again = run(e, graph, ss::resume(), on("t"));
  BOOST_TEST(!again.raw.error.has_value());
  BOOST_TEST(log_of(again) == "a");
}

namespace {

ss::task<json::value> ask_one(ss::runtime rt, std::string question) {
  auto asking = rt.interrupt(question);
  co_return co_await asking;
}

/// Asks two questions at the same time. Its output is discarded until both have answers.
ss::task<json::object> ask_both(ss::runtime rt) {
  auto both = std::vector<ss::task<json::value>>{};
  both.push_back(ask_one(rt, "pay 5?"));
  both.push_back(ask_one(rt, "pay 6?"));
  auto asking = ss::when_all(std::move(both));
  const auto answers = co_await asking;
  auto log = json::array{};
  for (const auto& each : answers)
    log.push_back(each.value.value_or("none"));
  auto out = json::object{};
  out["log"] = std::move(log);
  co_return out;
}

ss::compiled_json_graph both_asking() {
  auto g = logging({});
  g.add("a", [](const json::value&, ss::runtime rt) { return ask_both(std::move(rt)); });
  return g.edge("__start__", "a").compile(kept());
}

} // namespace

BOOST_AUTO_TEST_CASE(concurrent_questions_of_one_task_have_own_ids) {
  const auto graph = both_asking();
  auto e = ss::engine{{.workers = 1}};
  const auto stopped = run(e, graph, json::object{}, on("t"));
  BOOST_TEST_REQUIRE(stopped.raw.interrupts.size() == 2U);
  const auto first = stopped.raw.interrupts[0].id;
  const auto second = stopped.raw.interrupts[1].id;
  BOOST_TEST(first != second);
  // an answer to the second question does not go to the first one
  auto late = run(e, graph, ss::resume({{second, "yes"}}), on("t"));
  BOOST_TEST(late.raw.interrupts.size() == 2U);
  auto both = run(e, graph, ss::resume({{first, "no"}, {second, "yes"}}), on("t"));
  BOOST_TEST(log_of(both) == "no yes");
}

BOOST_AUTO_TEST_CASE(concurrent_questions_can_be_answered_in_order) {
  const auto graph = both_asking();
  auto e = ss::engine{{.workers = 1}};
  const auto stopped = run(e, graph, json::object{}, on("t"));
  BOOST_TEST_REQUIRE(stopped.raw.interrupts.size() == 2U);
  const auto second = stopped.raw.interrupts[1].id;
  const auto half = run(e, graph, answer("no"), on("t"));
  BOOST_TEST_REQUIRE(half.raw.interrupts.size() == 1U);
  BOOST_TEST(half.raw.interrupts[0].id == second);
  BOOST_TEST(log_of(run(e, graph, answer("yes"), on("t"))) == "no yes");
}

BOOST_AUTO_TEST_CASE(routers_are_not_called_for_result_of_interrupted_function) {
  auto g = logging({"after"});
  g.add("ask", [](const json::value&, const ss::runtime& rt) {
    const auto said = rt.ask("sure?");
    return json::object{{"log", json::array{said.value_or("discarded")}}};
  });
  const auto calls = std::make_shared<int>(0);
  g.edge("__start__", "ask");
  g.branch("ask", [calls](const json::value& state) {
    ++*calls;
    if (state.at("log").as_array().back() == "discarded")
      throw std::runtime_error{"not an answer"};
    return "after";
  });
  const auto graph = g.compile(kept());
  auto e = ss::engine{{.workers = 1}};
  const auto stopped = run(e, graph, json::object{}, on("t"));
  BOOST_TEST(!stopped.raw.error.has_value());
  BOOST_TEST(stopped.raw.interrupts.size() == 1U);
  BOOST_TEST(*calls == 0);
  BOOST_TEST(log_of(run(e, graph, answer("yes"), on("t"))) == "yes after");
  BOOST_TEST(*calls == 1);
}

BOOST_AUTO_TEST_CASE(question_is_answered_with_any_kind_of_text) {
  const auto graph = twice_asking();
  auto e = ss::engine{{.workers = 1}};
  (void)run(e, graph, json::object{}, on("t"));
  const auto typed = std::string{"yes"};
  (void)run(e, graph, ss::resume(typed), on("t"));
  const auto done = run(e, graph, ss::resume(std::string_view{"no"}), on("t"));
  BOOST_TEST(log_of(done) == "yes no");
}

BOOST_AUTO_TEST_SUITE_END()

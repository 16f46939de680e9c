// SPDX-License-Identifier: Apache-2.0
// The run loop as a caller sees it: order, limits, inputs, failures. Comments give the behaviours
// of docs/behaviours.md that a test covers.
#include "actors/graphs.hpp"
#include "graph_api/json_runs.hpp"

#include <superstep/checkpoint/write_cache.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <stdexcept>

using namespace graph_api;

namespace {

ss::run_config steps(std::uint32_t limit, std::string thread = {}) {
  auto config = on(std::move(thread));
  config.recursion_limit = limit;
  return config;
}

ss::compiled_json_graph chain_of_three(ss::compile_options options = {}) {
  auto g = logging({"a", "b", "c"});
  g.sequence({"__start__", "a", "b", "c"});
  return g.compile(std::move(options));
}

} // namespace

BOOST_AUTO_TEST_SUITE(runs)

// B003: only channels with a reducer interpret overwrites.
BOOST_AUTO_TEST_CASE(last_value_channel_stores_overwrite_verbatim) {
  auto e = ss::engine{{.workers = 1}};
  const auto wrapped = json::value(json::object{{"__overwrite__", 7}});
  auto g = ss::json_graph{};
  g.channel("x");
  g.add("a", [&](const json::value&) { return json::object{{"x", wrapped}}; });
  g.edge("__start__", "a");
  BOOST_TEST(run(e, g.compile()).state.at("x") == wrapped);
}

// B013: both written forms are recognized; similar objects are plain values.
BOOST_AUTO_TEST_CASE(overwrite_is_recognised_in_two_json_forms) {
  auto e = ss::engine{{.workers = 1}};
  const auto after_writing = [&](json::value update) {
    auto g = ss::json_graph{};
    g.channel(
        "all",
        [](json::value& into, json::value&& more) {
          auto list = json::array{into, more};
          into = std::move(list);
        },
        json::value("old"));
    g.add("a", [&](const json::value&) { return json::object{{"all", update}}; });
    g.edge("__start__", "a");
    return json::serialize(run(e, g.compile()).state.at("all"));
  };
  BOOST_TEST(after_writing(json::object{{"__overwrite__", 1}}) == "1");
  BOOST_TEST(after_writing(json::object{{"type", "__overwrite__"}, {"value", 2}}) == "2");
  BOOST_TEST(after_writing(json::object{{"__overwrite__", 1}, {"x", 2}}).starts_with(R"(["old")"));
  BOOST_TEST(after_writing(json::object{{"type", "__overwrite__"}}).starts_with(R"(["old")"));
}

// B024: the state of the last step is kept, and the run can resume with a new limit.
BOOST_AUTO_TEST_CASE(resume_completes_run_stopped_by_recursion_limit) {
  auto e = ss::engine{{.workers = 1}};
  const auto graph = chain_of_three(kept());
  const auto stopped = run(e, graph, json::object{}, steps(2, "t"));
  BOOST_TEST_REQUIRE(stopped.raw.error.has_value());
  BOOST_TEST((stopped.raw.error->code == ss::graph_errc::recursion_limit));
  BOOST_TEST(stopped.raw.error->text.starts_with(
      "Recursion limit of 2 reached without hitting a stop condition."));
  BOOST_TEST(log_of(run(e, graph, ss::resume(), on("t"))) == "a b c");
}

// B031: writes apply in the order of the Sends, though they end in the opposite order.
BOOST_AUTO_TEST_CASE(writes_apply_in_order_of_sends) {
  auto e = ss::engine{{.workers = 2}};
  auto gates = std::array<testing::gate, 12>{};
  auto g = ss::json_graph{};
  g.channel("log", "append");
  g.add("w", [&](const json::value& n, ss::runtime) -> ss::task<json::object> {
    const auto i = static_cast<std::size_t>(n.as_int64());
    if (i + 1 < gates.size()) { // the last one passes at once, and each opens the gate before it
      auto passed = gates[i].pass();
      co_await passed;
    }
    if (i > 0)
      gates[i - 1].open();
    auto out = json::object{};
    out["log"] = json::array{static_cast<std::int64_t>(i)};
    co_return out;
  });
  g.branch("__start__", [](const json::value&) {
    auto sends = std::vector<ss::json_target>{};
    for (auto i = 0; i < 12; ++i)
      sends.emplace_back("w", json::value(i));
    return sends;
  });
  const auto ended = run(e, g.compile());
  BOOST_TEST(json::serialize(ended.state.at("log")) == "[0,1,2,3,4,5,6,7,8,9,10,11]");
}

// Covers behaviour B041.
BOOST_AUTO_TEST_CASE(resume_without_checkpoint_is_an_error) {
  auto e = ss::engine{{.workers = 1}};
  const auto refused = run(e, chain_of_three(kept()), ss::resume(), on("new"));
  BOOST_TEST_REQUIRE(refused.raw.error.has_value());
  BOOST_TEST((refused.raw.error->code == ss::graph_errc::empty_input));
  BOOST_TEST(refused.raw.error->text ==
             "thread 'new' has no checkpoint, so there is nothing to resume: check the thread_id "
             "and the checkpointer, or start with an input");
}

BOOST_AUTO_TEST_CASE(resume_value_without_checkpoint_is_an_error) {
  auto e = ss::engine{{.workers = 1}};
  const auto graph = chain_of_three(kept());
  auto said = ss::json_command{};
  said.resume = ss::resume(1);
  const auto check = [&](const auto& refused) {
    BOOST_TEST_REQUIRE(refused.raw.error.has_value());
    BOOST_TEST(refused.raw.error->code == ss::graph_errc::empty_input);
    BOOST_TEST(refused.raw.error->text.find("'new'") != std::string::npos);
  };
  check(run(e, graph, ss::resume("yes"), on("new")));
  check(run(e, graph, ss::resume({{"some id", "yes"}}), on("new")));
  check(run(e, graph, said, on("new")));
  BOOST_TEST(!e.get_state(graph, on("new")).checkpoint, "nothing was saved");
  const auto ignored = run(e, graph, ss::resume("yes").ignoring_unknown_ids(), on("new"));
  BOOST_TEST(!ignored.raw.error.has_value(), "as in LangGraph, the run starts without input");
}

// B044, B045: a command in place of an input.
BOOST_AUTO_TEST_CASE(command_input_updates_state_and_adds_entry_node) {
  auto e = ss::engine{{.workers = 1}};
  const auto graph = chain_of_three(kept());
  auto said =
      ss::json_command{.update = json::object{{"log", json::array{"said"}}}, .go_to = {"c"}};
  // The command's node runs in addition to the nodes after START.
  BOOST_TEST(log_of(run(e, graph, std::move(said), on("t"))) == "said a c b c");
}

// B045: the Sends of a command that starts a new thread run together with the nodes after START.
BOOST_AUTO_TEST_CASE(sends_of_command_input_run_after_start) {
  auto e = ss::engine{{.workers = 1}};
  auto g = logging({"a"});
  g.add("w", [](const json::value& in) { return json::object{{"log", json::array{in}}}; });
  g.edge("__start__", "a");
  const auto graph = g.compile(kept());
  auto said = ss::json_command{.go_to = {ss::json_target{"w", json::value("sent")}}};
  BOOST_TEST(log_of(run(e, graph, std::move(said), on("t"))) == "a sent");
  const auto states = e.get_state_history(graph, on("t"));
  BOOST_TEST_REQUIRE(states.size() == 3U);
  BOOST_TEST(states[1].next == (std::vector<std::string>{"w", "a"}),
             boost::test_tools::per_element());
  BOOST_TEST(states[2].next == std::vector<std::string>{"__start__"},
             boost::test_tools::per_element());
}

// B052: a waiting sibling is abandoned if the thread has no checkpointer.
BOOST_AUTO_TEST_CASE(failed_node_ends_run_without_awaiting_siblings) {
  auto e = ss::engine{{.workers = 2}};
  auto never = testing::gate{};
  auto g = logging({});
  g.add("fails", [&](const json::value&) -> json::object {
    never.await_arrivals(1);
    throw std::runtime_error{"down"};
  });
  g.add("waits", [&](const json::value&, ss::runtime) -> ss::task<json::object> {
    auto passed = never.pass();
    co_await passed;
    co_return json::object{};
  });
  g.edge("__start__", "fails").edge("__start__", "waits");
  const auto failed = run(e, g.compile()); // returns although the gate never opens
  BOOST_TEST_REQUIRE(failed.raw.error.has_value());
  BOOST_TEST(failed.raw.error->node == "fails");
}

// B115: both become due in the same step, then one triggers the other again.
BOOST_AUTO_TEST_CASE(deferred_node_after_deferred_node_runs_twice) {
  auto e = ss::engine{{.workers = 1}};
  auto g = logging({"a"});
  auto deferred = ss::json_node_options{};
  deferred.defer = true;
  g.add("d", logs("d"), deferred).add("e", logs("e"), deferred);
  g.edge("__start__", "a").edge("a", "d").edge("a", "e").edge("d", "e");
  BOOST_TEST(log_of(run(e, g.compile())) == "a d e e");
}

// Covers behaviour B165.
BOOST_AUTO_TEST_CASE(failure_of_cached_node_is_not_cached) {
  auto e = ss::engine{{.workers = 1}};
  auto calls = 0;
  auto g = ss::json_graph{};
  g.channel("x");
  auto options = ss::json_node_options{};
  options.cache.emplace();
  g.add(
      "a",
      [&](const json::value&) {
        if (++calls == 1)
          throw std::runtime_error{"down"};
        return json::object{{"x", calls}};
      },
      options);
  g.edge("__start__", "a");
  auto with_cache = ss::compile_options{};
  with_cache.cache = std::make_shared<ss::memory_cache>();
  const auto graph = g.compile(with_cache);
  BOOST_TEST(run(e, graph).raw.error.has_value());
  BOOST_TEST(run(e, graph).state.at("x").as_int64() == 2);
  BOOST_TEST(run(e, graph).state.at("x").as_int64() == 2);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(commands)

// B137: END is not a node, so a command to END has no effect, and the node's edges fire.
BOOST_AUTO_TEST_CASE(command_to_end_does_not_suppress_edges) {
  auto e = ss::engine{{.workers = 1}};
  auto g = logging({"b"});
  g.add("a", [](const json::value&) {
    return ss::json_command{json::object{{"log", json::array{"a"}}}, {"__end__"}};
  });
  g.sequence({"__start__", "a", "b"});
  BOOST_TEST(log_of(run(e, g.compile())) == "a b");
}

namespace {

/// A graph that commands its parent to go to `to` and to log; its second run does nothing.
ss::compiled_json_graph commander(std::vector<ss::json_target> to) {
  auto g = logging({});
  g.add("says", [to](const json::value& in) {
    auto c = ss::json_command{json::object{{"log", json::array{"said"}}}};
    if (in.as_object().at("log").as_array().size() < 2)
      c.go_to = to;
    c.to_parent = true;
    return c;
  });
  g.edge("__start__", "says");
  return g.compile();
}

} // namespace

// B141: a command to the parent becomes the result of the subgraph's node in the direct parent, and
// does not reach the graph above that.
BOOST_AUTO_TEST_CASE(command_to_parent_applies_to_direct_parent_only) {
  auto e = ss::engine{{.workers = 1}};
  auto middle = logging({"m"});
  middle.add("inner", commander({"m"})).edge("__start__", "inner");
  auto g = logging({"m"});
  g.add("middle", middle.compile()).edge("__start__", "middle");
  BOOST_TEST(log_of(run(e, g.compile())) == "said m"); // only m of the middle graph has run
}

// The command ends the child graph, so that the question of a sibling is dropped. Source:
// `_panic_or_proceed()` in LangGraph 1.2.22, pregel/_runner.py.
BOOST_AUTO_TEST_CASE(command_to_parent_drops_question_of_sibling) {
  auto e = ss::engine{{.workers = 1}};
  auto child = logging({});
  child.add("says", [](const json::value&) {
    auto c = ss::json_command{json::object{{"log", json::array{"said"}}}};
    c.to_parent = true;
    return c;
  });
  child.add("ask", asks("?")).edge("__start__", "says").edge("__start__", "ask");
  auto g = logging({"m"});
  g.add("child", child.compile()).sequence({"__start__", "child", "m"});
  const auto graph = g.compile(kept());
  const auto ended = run(e, graph, json::object{}, on("t"));
  BOOST_TEST((ended.raw.status == ss::run_status::finished));
  BOOST_TEST(log_of(ended) == "said m");
}

// The graph is not a node but is run by the body of one, as a wrapper around an agent does.
BOOST_AUTO_TEST_CASE(command_to_parent_applies_to_graph_whose_body_runs_the_child) {
  auto e = ss::engine{{.workers = 1}};
  auto g = logging({"m"});
  const auto child = commander({"m"});
  g.add("calls", [child](const json::value& in, ss::runtime rt) -> ss::task<json::object> {
    auto running = rt.invoke(child, in.as_object());
    co_await running;
    co_return json::object{{"log", json::array{"not reached"}}};
  });
  g.edge("__start__", "calls");
  BOOST_TEST(log_of(run(e, g.compile(), json::object{{"log", json::array{}}})) == "said m");
}

struct routed {
  std::vector<std::string> log;
  using reducers = ss::reducers<ss::by<&routed::log, ss::append_items>>;
};
BOOST_DESCRIBE_STRUCT(routed, (), (log))

BOOST_AUTO_TEST_CASE(parent_command_of_typed_child_reaches_graph_of_calling_body) {
  auto inner = ss::graph<routed>{};
  inner.add("says", [](const routed&) {
    return ss::parent_command<routed>{ss::set<&routed::log>({"said"}), {"m"}};
  });
  inner.edge(ss::start, "says");
  auto g = ss::graph<routed>{};
  g.add(
      "calls",
      [child = inner.compile()](const routed& in, ss::runtime rt) -> ss::task<ss::update<routed>> {
        auto running = rt.invoke(child, in);
        co_return ss::set<&routed::log>((co_await running).log);
      });
  g.add("m", [](const routed&) { return ss::set<&routed::log>({"m"}); });
  g.edge(ss::start, "calls");
  auto e = ss::engine{{.workers = 1}};
  const auto done = e.invoke(g.compile(), routed{}).state.log;
  BOOST_TEST(done == (std::vector<std::string>{"said", "m"}), boost::test_tools::per_element());
}

// Covers behaviour B142.
BOOST_AUTO_TEST_CASE(command_to_parent_fails_in_outermost_graph) {
  auto e = ss::engine{{.workers = 1}};
  const auto failed = run(e, commander({}));
  BOOST_TEST_REQUIRE(failed.raw.error.has_value());
  BOOST_TEST((failed.raw.error->code == ss::graph_errc::no_parent));
  BOOST_TEST(failed.raw.error->node == "says");
  auto said = ss::json_command{.to_parent = true};
  auto g = logging({"a"});
  g.edge("__start__", "a");
  const auto refused = run(e, g.compile(), std::move(said));
  BOOST_TEST_REQUIRE(refused.raw.error.has_value());
  BOOST_TEST(refused.raw.error->text ==
             "the command is for a parent graph, but a run that is not nested has no parent");
}

// B143: a command may make the parent run the subgraph again.
BOOST_AUTO_TEST_CASE(subgraph_can_command_parent_to_rerun_it) {
  auto e = ss::engine{{.workers = 1}};
  auto g = logging({});
  g.add("sub", commander({"sub"})).edge("__start__", "sub");
  BOOST_TEST(log_of(run(e, g.compile())) == "said said said");
}

BOOST_AUTO_TEST_CASE(managed_channels_of_parent_are_not_input_of_subgraph) {
  auto e = ss::engine{{.workers = 1}};
  auto below = logging({"a"});
  below.sequence({"__start__", "a"});
  auto g = logging({});
  g.channel("left", "remaining_steps").channel("last", "is_last_step");
  g.add("sub", below.compile()).edge("__start__", "sub");
  const auto ended = run(e, g.compile());
  BOOST_TEST(!ended.raw.error.has_value());
  BOOST_TEST(log_of(ended) == "a");
}

BOOST_AUTO_TEST_SUITE_END()

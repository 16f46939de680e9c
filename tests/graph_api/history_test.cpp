// SPDX-License-Identifier: Apache-2.0
// Threads read, edited, replayed and forked. Tests name the behaviours of docs/behaviours.md that
// they show.
#include "graph_api/json_runs.hpp"

#include <boost/test/unit_test.hpp>

#include <stdexcept>

using namespace graph_api;

namespace {

const auto place = ss::thread_place{"t", {}, {}};

ss::compiled_json_graph chain(std::vector<std::string> nodes,
                              ss::compile_options options = kept()) {
  auto g = logging(nodes);
  nodes.insert(nodes.begin(), "__start__");
  g.sequence(nodes);
  return g.compile(std::move(options));
}

ss::run_config at(std::string checkpoint_id) {
  auto config = on("t");
  config.thread.emplace().checkpoint_id = std::move(checkpoint_id);
  return config;
}

std::string log_in(const ss::compiled_json_graph& g, const ss::state_snapshot& s) {
  return log_of({{}, g.state(*s.state)});
}

ss::state_edit edit_of(const ss::compiled_json_graph& g, const json::object& values,
                       std::string as_node = {}) {
  auto edit = ss::state_edit{};
  edit.values.emplace();
  for (auto& w : g.edit(values))
    edit.values->push_back(std::move(w));
  edit.as_node = std::move(as_node);
  return edit;
}

const auto said_x = json::object{{"log", json::array{"x"}}};

} // namespace

BOOST_AUTO_TEST_SUITE(history)

// B207, B209: newest first, each as it was before the step that follows it.
BOOST_AUTO_TEST_CASE(the_history_is_newest_first_and_says_what_came_next) {
  auto e = ss::engine{{.workers = 1}};
  const auto graph = chain({"a", "b"});
  (void)run(e, graph, json::object{}, on("t"));
  const auto all = ss::state_history(graph.table(), place);
  BOOST_TEST_REQUIRE(all.size() == 4U); // b, a, START, the input
  BOOST_TEST(log_in(graph, all[0]) == "a b");
  BOOST_TEST(all[0].next.empty());
  BOOST_TEST(log_in(graph, all[1]) == "a");
  BOOST_TEST(all[1].next == std::vector<std::string>{"b"}, boost::test_tools::per_element());
  BOOST_TEST_REQUIRE(all[1].tasks.size() == 1U);
  BOOST_TEST(all[1].tasks[0].task == "b");
  BOOST_TEST(all[1].tasks[0].result.has_value());
  BOOST_TEST(all[2].next == std::vector<std::string>{"a"}, boost::test_tools::per_element());
}

// B208: filtered first, then cut.
BOOST_AUTO_TEST_CASE(the_history_is_filtered_bounded_and_begun_before_an_id) {
  auto e = ss::engine{{.workers = 1}};
  const auto graph = chain({"a", "b"});
  (void)run(e, graph, json::object{}, on("t"));
  const auto all = ss::state_history(graph.table(), place);
  auto query = ss::checkpoint_query{};
  query.source = ss::checkpoint_source::loop;
  query.before = all[0].point->id;
  query.limit = 1;
  const auto some = ss::state_history(graph.table(), place, query);
  BOOST_TEST_REQUIRE(some.size() == 1U);
  BOOST_TEST(some[0].point->id == all[1].point->id);
  query = {};
  query.step = -1;
  BOOST_TEST(ss::state_history(graph.table(), place, query).size() == 1U);
}

// B210
BOOST_AUTO_TEST_CASE(a_thread_that_was_never_used_is_empty) {
  const auto snapshot = ss::get_state(chain({"a"}).table(), {"nobody", {}, {}});
  BOOST_TEST(snapshot.point == nullptr);
  BOOST_TEST(snapshot.next.empty());
  BOOST_TEST(snapshot.tasks.empty());
}

// B211, B214, B215: what was done is done again from there; the old branch stays as it is.
BOOST_AUTO_TEST_CASE(a_replay_branches_off_and_leaves_the_old_branch) {
  auto e = ss::engine{{.workers = 1}};
  const auto graph = chain({"a", "b"});
  (void)run(e, graph, json::object{}, on("t"));
  const auto before_b = ss::state_history(graph.table(), place).at(1).point->id;
  for (auto branches = std::size_t{1}; branches < 3; ++branches) {
    BOOST_TEST(log_of(run(e, graph, ss::run_input::go_on(), at(before_b))) == "a b");
    const auto all = ss::state_history(graph.table(), place);
    BOOST_TEST_REQUIRE(all.size() == 4 + 2 * branches); // a fork and b
    BOOST_TEST((all[1].point->source == ss::checkpoint_source::fork));
    BOOST_TEST(all[1].point->parent == before_b);
  }
}

// B212
BOOST_AUTO_TEST_CASE(a_replay_of_the_end_runs_nothing) {
  auto e = ss::engine{{.workers = 1}};
  auto calls = 0;
  auto g = logging({});
  g.node("a", [&](const json::value&) {
    ++calls;
    return said_x;
  });
  g.edge("__start__", "a");
  const auto graph = g.compile(kept());
  (void)run(e, graph, json::object{}, on("t"));
  const auto head = ss::state_history(graph.table(), place).at(0).point->id;
  BOOST_TEST(log_of(run(e, graph, ss::run_input::go_on(), at(head))) == "x");
  BOOST_TEST(calls == 1);
}

// B213, B219: an edit, or an input, at an older checkpoint begins a branch of its own.
BOOST_AUTO_TEST_CASE(an_edit_or_an_input_at_an_old_checkpoint_begins_a_branch) {
  auto e = ss::engine{{.workers = 1}};
  const auto graph = chain({"a", "b"});
  (void)run(e, graph, json::object{}, on("t"));
  const auto before_b = ss::state_history(graph.table(), place).at(1).point->id;
  (void)ss::update_state(graph.table(), {"t", before_b, {}}, edit_of(graph, said_x));
  BOOST_TEST(log_of(run(e, graph, ss::run_input::go_on(), on("t"))) == "a x b");
  BOOST_TEST(log_of(run(e, graph, ss::run_input{graph.input(said_x)}, at(before_b))) == "a x a b");
  const auto all = ss::state_history(graph.table(), place);
  BOOST_TEST((all[3].point->source == ss::checkpoint_source::input));
  BOOST_TEST(all[3].point->parent == before_b);
}

// B216: questions are asked again in a replay, whatever was answered then.
BOOST_AUTO_TEST_CASE(a_replay_asks_again) {
  auto e = ss::engine{{.workers = 1}};
  auto g = logging({"a"});
  g.node("ask", asks("?")).sequence({"__start__", "a", "ask"});
  const auto graph = g.compile(kept());
  (void)run(e, graph, json::object{}, on("t"));
  BOOST_TEST(log_of(run(e, graph, answer("yes"), on("t"))) == "a yes");
  const auto before = ss::state_history(graph.table(), place).at(1).point->id;
  const auto again = run(e, graph, ss::run_input::go_on(), at(before));
  BOOST_TEST_REQUIRE(again.raw.asked.has_value());
  BOOST_TEST(log_of(run(e, graph, answer("no"), on("t"))) == "a no");
}

// B220
BOOST_AUTO_TEST_CASE(steps_are_counted_on_over_the_inputs_of_a_thread) {
  auto e = ss::engine{{.workers = 1}};
  const auto graph = chain({"a"});
  (void)run(e, graph, json::object{}, on("t"));
  (void)run(e, graph, json::object{}, on("t"));
  auto steps = std::vector<std::int64_t>{};
  for (const auto& s : ss::state_history(graph.table(), place))
    steps.push_back(s.point->step);
  BOOST_TEST(steps == (std::vector<std::int64_t>{4, 3, 2, 1, 0, -1}),
             boost::test_tools::per_element());
}

// B222, B223: who failed says why; Sends that had ended are not run again.
BOOST_AUTO_TEST_CASE(a_failed_step_shows_its_errors_and_does_only_them_again) {
  auto e = ss::engine{{.workers = 1}};
  auto calls = 0;
  auto fails = true;
  auto g = logging({});
  g.node("w", [&](const json::value& in) {
    ++calls;
    if (fails && in.as_string() == "y")
      throw std::runtime_error{"no y today"};
    return json::object{{"log", json::array{in}}};
  });
  g.branch("__start__", [](const json::value&) {
    return std::vector<ss::json_target>{
        {"w", json::value("x")}, {"w", json::value("y")}, {"w", json::value("z")}};
  });
  const auto graph = g.compile(kept());
  BOOST_TEST(run(e, graph, json::object{}, on("t")).raw.error->task == "w#1");
  const auto seen = ss::get_state(graph.table(), place);
  BOOST_TEST(seen.next == std::vector<std::string>{"w"}, boost::test_tools::per_element());
  BOOST_TEST_REQUIRE(seen.tasks.size() == 3U);
  BOOST_TEST(seen.tasks[1].error.find("no y today") != std::string::npos);
  BOOST_TEST(seen.tasks[0].error.empty());
  BOOST_TEST(log_in(graph, seen) == "x z"); // what the others did is shown already
  fails = false;
  BOOST_TEST(log_of(run(e, graph, ss::run_input::go_on(), on("t"))) == "x y z");
  BOOST_TEST(calls == 4);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(edits)

// B192, B195: the edges of the node that is said to have written fire.
BOOST_AUTO_TEST_CASE(an_edit_counts_as_the_node_that_ran_last_or_as_the_one_that_is_named) {
  auto e = ss::engine{{.workers = 1}};
  auto options = kept();
  options.interrupt_before = {"b"};
  const auto graph = chain({"a", "b", "c"}, options);
  (void)run(e, graph, json::object{}, on("t"));
  (void)ss::update_state(graph.table(), place, edit_of(graph, said_x));
  BOOST_TEST(ss::get_state(graph.table(), place).next == std::vector<std::string>{"b"},
             boost::test_tools::per_element());
  (void)ss::update_state(graph.table(), place, edit_of(graph, said_x, "b"));
  BOOST_TEST(ss::get_state(graph.table(), place).next == std::vector<std::string>{"c"},
             boost::test_tools::per_element());
  BOOST_TEST(log_of(run(e, graph, ss::run_input::go_on(), on("t"))) == "a x x c");
}

// B194: the message says which node.
BOOST_AUTO_TEST_CASE(an_edit_as_a_node_that_is_not_there_is_refused) {
  const auto graph = chain({"a"});
  BOOST_CHECK_EXCEPTION((void)ss::update_state(graph.table(), place, edit_of(graph, said_x, "zz")),
                        ss::graph_error, [](const ss::graph_error& failed) {
                          return std::string{failed.what()} == "Node zz does not exist";
                        });
}

// B198: nothing is left to run; what finished siblings gave stays.
BOOST_AUTO_TEST_CASE(an_edit_as_the_end_clears_what_is_pending) {
  auto e = ss::engine{{.workers = 1}};
  auto g = logging({"a"});
  g.node("ask", asks("?")).edge("__start__", "a").edge("__start__", "ask");
  const auto graph = g.compile(kept());
  (void)run(e, graph, json::object{}, on("t"));
  auto edit = ss::state_edit{};
  edit.as_node = "__end__";
  (void)ss::update_state(graph.table(), place, std::move(edit));
  const auto now = ss::get_state(graph.table(), place);
  BOOST_TEST(now.next.empty());
  BOOST_TEST(log_in(graph, now) == "a");
}

// B200: without values only the edges of the node fire.
BOOST_AUTO_TEST_CASE(an_edit_without_values_fires_edges_only) {
  const auto graph = chain({"a", "b"});
  auto edit = ss::state_edit{};
  edit.as_node = "a";
  (void)ss::update_state(graph.table(), place, std::move(edit));
  const auto now = ss::get_state(graph.table(), place);
  BOOST_TEST(now.next == std::vector<std::string>{"b"}, boost::test_tools::per_element());
  BOOST_TEST(graph.state(*now.state).at("log").as_array().empty());
}

// B203: the edit shows as the result of the task that it stands for.
BOOST_AUTO_TEST_CASE(an_edit_is_the_result_of_the_task_that_it_replaces) {
  auto e = ss::engine{{.workers = 1}};
  auto options = kept();
  options.interrupt_before = {"b"};
  const auto graph = chain({"a", "b"}, options);
  (void)run(e, graph, json::object{}, on("t"));
  (void)ss::update_state(graph.table(), place, edit_of(graph, said_x, "b"));
  const auto all = ss::state_history(graph.table(), place);
  BOOST_TEST_REQUIRE(all[1].tasks.size() == 1U);
  BOOST_TEST_REQUIRE(all[1].tasks[0].result.has_value());
  BOOST_TEST(json::serialize(graph.update(*all[1].tasks[0].result)) == R"({"log":["x"]})");
}

// B204: pending Sends are dropped, unless the node's branches make them again.
BOOST_AUTO_TEST_CASE(an_edit_replaces_the_sends_that_are_pending) {
  auto e = ss::engine{{.workers = 1}};
  auto g = logging({"a"});
  g.node("w", [](const json::value& in) { return json::object{{"log", json::array{in}}}; });
  g.edge("__start__", "a");
  g.branch("a", [](const json::value& in) {
    return std::vector<ss::json_target>{{"w", in.at("log").as_array().back()}};
  });
  auto options = kept();
  options.interrupt_before = {"w"};
  const auto graph = g.compile(options);
  (void)run(e, graph, json::object{}, on("t"));
  BOOST_TEST(ss::get_state(graph.table(), place).next.size() == 1U);
  (void)ss::update_state(graph.table(), place, edit_of(graph, said_x)); // as a, which ran last
  BOOST_TEST(ss::get_state(graph.table(), place).next.size() == 1U);
  BOOST_TEST(log_of(run(e, graph, ss::run_input::go_on(), on("t"))) == "a x x");
  (void)run(e, graph, json::object{}, on("u"));
  (void)ss::update_state(graph.table(), {"u", {}, {}}, edit_of(graph, said_x, "w"));
  BOOST_TEST(ss::get_state(graph.table(), {"u", {}, {}}).next.empty());
}

// B346, B242: a subgraph's thread is read and edited in its namespace.
BOOST_AUTO_TEST_CASE(the_state_of_a_subgraph_is_read_and_edited_where_it_stands) {
  auto e = ss::engine{{.workers = 1}};
  auto inner = logging({"first"});
  inner.node("ask", asks("?")).sequence({"__start__", "first", "ask"});
  const auto child = inner.compile();
  auto g = logging({});
  g.node("sub", child).edge("__start__", "sub");
  const auto graph = g.compile(kept());
  (void)run(e, graph, json::object{}, on("t"));
  const auto seen = ss::get_state(graph.table(), place, true);
  BOOST_TEST_REQUIRE(seen.tasks.size() == 1U);
  BOOST_TEST_REQUIRE(seen.tasks[0].nested != nullptr);
  BOOST_TEST(log_in(child, *seen.tasks[0].nested) == "first");
  BOOST_TEST(seen.tasks[0].nested->next == std::vector<std::string>{"ask"},
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: Apache-2.0
// Runs that return to an earlier checkpoint, with subgraphs.
#include "graph_api/threads.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

using namespace graph_api;

BOOST_AUTO_TEST_SUITE(time_travel)

namespace {

std::int64_t n_of(const json::value& state) {
  return state.at("n").as_int64();
}

/// A subgraph that keeps `n` between its calls on a thread. Each call adds its input to `n`,
/// then 1.
ss::compiled_json_graph keep(ss::compile_options options = {}) {
  auto g = ss::json_graph{};
  g.channel("n", "add");
  g.add("k", [](const json::value&) { return json::object{{"n", 1}}; });
  g.edge("__start__", "k");
  options.persistence = ss::persistence::per_thread;
  return g.compile(std::move(options));
}

/// A graph with another graph as its only node.
ss::compiled_json_graph around(ss::compiled_json_graph inner) {
  auto g = ss::json_graph{};
  g.channel("n", "last").add("inner", std::move(inner)).edge("__start__", "inner");
  return g.compile();
}

/// A loop of two nodes: w is the inner graph, and v logs the value of n. The loop ends when three
/// values are logged.
ss::compiled_json_graph loop_of(ss::compiled_json_graph inner) {
  auto g = ss::json_graph{};
  g.channel("n", "last").channel("log", "append");
  auto options = ss::json_node_options{};
  options.reads = {"n"};
  g.add("w", std::move(inner), options);
  g.add("v", [](const json::value& state) {
    return json::object{{"log", json::array{n_of(state)}}};
  });
  g.edge("__start__", "w").edge("w", "v").branch("v", [](const json::value& state) {
    return std::string{state.at("log").as_array().size() < 3 ? "w" : "__end__"};
  });
  return g.compile(kept());
}

std::string log_text(const outcome& o) {
  return ss::to_canonical_text(o.state.at("log"));
}

/// Returns the checkpoint before the n-th run (from 1) of w.
std::string before_w(ss::engine& e, const ss::compiled_json_graph& g, std::size_t n) {
  auto found = std::vector<std::string>{};
  for (const auto& s : e.get_state_history(g, on("t")))
    if (s.next == std::vector<std::string>{"w"})
      found.push_back(s.checkpoint->id);
  return found.at(found.size() - n);
}

struct depth_case {
  int depth;
  std::string_view log;
};
std::ostream& operator<<(std::ostream& out, const depth_case& c) {
  return out << c.depth;
}

const auto depths = std::vector<depth_case>{{1, "[1,3,7]"}, {2, "[1,3,7]"}, {3, "[1,3,7]"}};

ss::compiled_json_graph loop_at(int depth) {
  auto inner = keep();
  for (auto i = 1; i < depth; ++i)
    inner = around(std::move(inner));
  return loop_of(std::move(inner));
}

} // namespace

// A replay from any checkpoint logs the same values as the first run, because each subgraph starts
// from the state that it had at that checkpoint.
BOOST_DATA_TEST_CASE(replay_restores_subgraph_state_of_that_checkpoint,
                     boost::unit_test::data::make(depths), c) {
  auto e = ss::engine{{.workers = 1}};
  for (const auto nth : {1U, 2U, 3U}) {
    const auto graph = loop_at(c.depth);
    BOOST_TEST(log_text(run(e, graph, json::object{{"n", 0}}, on("t"))) == c.log);
    const auto back = run(e, graph, ss::resume(), at(before_w(e, graph, nth)));
    BOOST_TEST(log_text(back) == c.log, "from run " << nth << " of w: " << log_text(back));
  }
}

// A state update at a checkpoint creates a branch there. Subgraphs continue in it with the state
// that they had at that checkpoint.
BOOST_DATA_TEST_CASE(fork_from_updated_checkpoint_keeps_subgraph_states,
                     boost::unit_test::data::make(depths), c) {
  auto e = ss::engine{{.workers = 1}};
  const auto graph = loop_at(c.depth);
  (void)run(e, graph, json::object{{"n", 0}}, on("t"));
  const auto edited = before_w(e, graph, 2); // here the log is [1]
  const auto id = e.update_state(graph, at(edited), update{.as_node = "v"});
  BOOST_TEST(log_text(run(e, graph, ss::resume(), at(id))) == c.log);
}

// An old checkpoint may have other branches, which would read a result that is stored for its
// tasks.
BOOST_AUTO_TEST_CASE(update_of_old_checkpoint_stores_no_task_result) {
  auto e = ss::engine{{.workers = 1}};
  const auto graph = chain({"a", "b"});
  auto config = on("t");
  config.thread.emplace().interrupt_before = std::vector<std::string>{"b"};
  (void)run(e, graph, json::object{}, config);
  auto stopped = e.get_state(graph, on("t")).checkpoint->id;
  const auto has_result = [&] {
    return e.get_state(graph, at(stopped)).tasks.at(0).result.has_value();
  };
  const auto as_a = update{.values = said_x, .as_node = "a"}; // b stays pending, without a result
  (void)e.update_state(graph, on("t"), as_a);
  (void)e.update_state(graph, at(stopped), said_x, "b");
  BOOST_TEST(!has_result());
  // An update of the newest checkpoint stores the result for its pending task.
  stopped = e.update_state(graph, at(stopped), as_a);
  (void)e.update_state(graph, on("t"), said_x, "b");
  BOOST_TEST(has_result());
}

// The newest checkpoint is replayed like any other if it is named.
BOOST_AUTO_TEST_CASE(newest_checkpoint_is_replayed_if_given_by_id) {
  auto e = ss::engine{{.workers = 1}};
  auto stopping = ss::compile_options{};
  stopping.interrupt_after = {"k"};
  for (const auto depth : {1, 2}) {
    auto inner = keep(stopping);
    if (depth == 2)
      inner = around(std::move(inner));
    const auto graph = loop_of(std::move(inner));
    (void)run(e, graph, json::object{{"n", 0}}, on("t"));
    const auto newest = e.get_state(graph, on("t")).checkpoint->id;
    const auto again = run(e, graph, ss::resume(), at(newest));
    BOOST_TEST((again.raw.status == ss::run_status::interrupted)); // stopped after k again
    const auto ended = run(e, graph, ss::resume(), on("t"));
    BOOST_TEST((ended.raw.status == ss::run_status::interrupted)); // in the second call of w
    BOOST_TEST(log_text(ended) == "[1]");
  }
}

BOOST_AUTO_TEST_CASE(snapshot_config_selects_its_checkpoint) {
  auto e = ss::engine{{.workers = 1}};
  const auto graph = chain({"a", "b", "c"});
  BOOST_TEST(e.get_state(graph, on("t")).config().thread_id == "t");
  BOOST_TEST(!e.get_state(graph, on("t")).config().thread, "there is no checkpoint yet");
  (void)run(e, graph, json::object{}, on("t"));
  const auto history = e.get_state_history(graph, on("t")); // after c, b, a, START
  const auto& before_c = history.at(1);
  BOOST_TEST(before_c.config().thread->checkpoint_id == before_c.checkpoint->id);
  BOOST_TEST(log_of(run(e, graph, ss::resume(), before_c.config())) == "a b c");
  BOOST_TEST(log_of(run(e, graph, said_x, history.at(2).config())) == "a x a b c");
  (void)e.update_state(graph, before_c.config(), said_x);
  BOOST_TEST(log_of(run(e, graph, ss::resume(), on("t"))) == "a b x c");
  BOOST_TEST(log_in(graph, e.get_state(graph, before_c.config())) == "a b", "is not changed");
}

BOOST_AUTO_TEST_CASE(subgraph_snapshot_config_selects_its_checkpoint) {
  auto e = ss::engine{{.workers = 1}};
  auto stopping = ss::compile_options{};
  stopping.interrupt_after = {"k"};
  const auto graph = loop_of(keep(stopping));
  (void)run(e, graph, json::object{{"n", 0}}, on("t"));
  const auto whole = e.get_state(graph, on("t"), true);
  const auto& nested = *whole.tasks.at(0).nested;
  BOOST_TEST(nested.config().thread_id == "t");
  BOOST_TEST(nested.config().thread->checkpoint_ns == whole.tasks.at(0).nested_ns);
  BOOST_TEST(nested.config().thread->checkpoint_id == nested.checkpoint->id);
}

// A command's writes belong to the new branch, not to the checkpoint it returns to.
BOOST_AUTO_TEST_CASE(command_at_old_checkpoint_writes_only_to_fork) {
  auto e = ss::engine{{.workers = 1}};
  const auto graph = chain({"a", "b"});
  (void)run(e, graph, json::object{}, on("t"));
  const auto old = e.get_state_history(graph, on("t")).at(1); // before b
  auto said = ss::json_command{.update = said_x};
  BOOST_TEST(log_of(run(e, graph, std::move(said), at(old.checkpoint->id))) == "a x b");
  BOOST_TEST(log_in(graph, e.get_state(graph, at(old.checkpoint->id))) == "a");
  BOOST_TEST(log_of(run(e, graph, ss::resume(), at(old.checkpoint->id))) == "a b");
}

// START and a node of a command run in one step. The order of their writes is that of the names.
BOOST_AUTO_TEST_CASE(start_has_its_place_by_name_beside_node_of_command) {
  const auto log_beside = [](const std::string& node) {
    auto e = ss::engine{{.workers = 1}};
    auto g = logging({node, "d"});
    g.edge("__start__", "d");
    const auto graph = g.compile(kept());
    (void)run(e, graph, json::object{{"log", json::array{"in"}}}, on("t"));
    const auto first = e.get_state_history(graph, on("t")).back(); // before START
    auto said = ss::json_command{};
    said.go_to = {ss::json_target{node}};
    return log_of(run(e, graph, std::move(said), at(first.checkpoint->id)));
  };
  BOOST_TEST(log_beside("c") == "in c d");
  BOOST_TEST(log_beside("C") == "C in d");
}

BOOST_AUTO_TEST_SUITE_END()

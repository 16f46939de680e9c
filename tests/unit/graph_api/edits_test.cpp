// SPDX-License-Identifier: Apache-2.0
// State updates on threads. Comments give the behaviours of docs/behaviours.md that a test covers.
#include "checkpoint/sqlite_fixtures.hpp"
#include "graph_api/threads.hpp"
#include "threads/thread_run.hpp"

#include <superstep/checkpoint/sqlite.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <functional>
#include <future>
#include <stdexcept>

#include <sqlite3.h>

using namespace graph_api;

BOOST_AUTO_TEST_SUITE(state_updates)

// B192, B195: the edges of the node that the update is attributed to fire.
BOOST_AUTO_TEST_CASE(state_update_belongs_to_last_node_by_default) {
  auto e = ss::engine{{.workers = 1}};
  auto options = kept();
  options.interrupt_before = {"b"};
  const auto graph = chain({"a", "b", "c"}, options);
  (void)run(e, graph, json::object{}, on("t"));
  (void)e.update_state(graph, on("t"), said_x);
  BOOST_TEST(e.get_state(graph, on("t")).next == std::vector<std::string>{"b"},
             boost::test_tools::per_element());
  (void)e.update_state(graph, on("t"), said_x, "b");
  BOOST_TEST(e.get_state(graph, on("t")).next == std::vector<std::string>{"c"},
             boost::test_tools::per_element());
  BOOST_TEST(log_of(run(e, graph, ss::resume(), on("t"))) == "a x x c");
}

// B192: an update as a node is not a run of it, also at an old checkpoint. Source: `apply_writes()`
// in LangGraph 1.2.22, pregel/_algo.py, which marks only the triggers of runs as seen.
BOOST_AUTO_TEST_CASE(state_update_does_not_count_as_node_run) {
  auto e = ss::engine{{.workers = 1}};
  auto options = kept();
  options.interrupt_before = {"b"};
  const auto graph = chain({"a", "b", "c"}, options);
  (void)run(e, graph, json::object{}, on("t"));
  const auto updated = e.update_state(graph, on("t"), said_x, "b"); // next is c
  BOOST_TEST(log_of(run(e, graph, ss::resume(), on("t"))) == "a x c");
  const auto next_after = [&](const std::string& checkpoint, const std::string& as_node) {
    return e.get_state(graph, at(e.update_state(graph, at(checkpoint), said_x, as_node))).next;
  };
  BOOST_TEST(next_after(updated, {}) == std::vector<std::string>{"b"},
             boost::test_tools::per_element());
  BOOST_TEST(next_after(updated, "b") == std::vector<std::string>{"c"},
             boost::test_tools::per_element());
}

// B194: the error names the node.
BOOST_AUTO_TEST_CASE(state_update_as_unknown_node_is_rejected) {
  auto e = ss::engine{{.workers = 1}};
  const auto graph = chain({"a"});
  BOOST_CHECK_EXCEPTION((void)e.update_state(graph, on("t"), said_x, "zz"), ss::graph_error,
                        [](const ss::graph_error& failed) {
                          return std::string{failed.what()} ==
                                 "as_node: the graph has no node 'zz'";
                        });
}

// B197: as for an input, values for channels that are not input channels are dropped, also if the
// update belongs to START because no node has run.
BOOST_AUTO_TEST_CASE(state_update_as_start_writes_input_channels_only) {
  auto e = ss::engine{{.workers = 1}};
  auto g = logging({"a"});
  g.channel("own", "last").input({"log"}).edge("__start__", "a");
  const auto graph = g.compile(kept());
  const auto values = json::object{{"log", json::array{"x"}}, {"own", 1}};
  for (const auto* as_node : {"__start__", ""}) {
    const auto thread = on(std::string{"as "} + as_node);
    (void)e.update_state(graph, thread, update{.values = values, .as_node = as_node});
    const auto state = ss::detail::adapter_of(graph).state(*e.get_state(graph, thread).state);
    BOOST_TEST(!state.contains("own"));
    BOOST_TEST(state.at("log") == json::array{"x"});
  }
}

// B198: no task remains pending; results of finished siblings stay.
BOOST_AUTO_TEST_CASE(state_update_as_end_clears_pending_tasks) {
  auto e = ss::engine{{.workers = 1}};
  auto g = logging({"a"});
  g.add("ask", asks("?")).edge("__start__", "a").edge("__start__", "ask");
  const auto graph = g.compile(kept());
  (void)run(e, graph, json::object{}, on("t"));
  (void)e.update_state(graph, on("t"), update{.as_node = "__end__"});
  const auto now = e.get_state(graph, on("t"));
  BOOST_TEST(now.next.empty());
  BOOST_TEST(log_in(graph, now) == "a");
}

// B198: the outputs of finished tasks are applied as at the end of a step: the nodes that they
// trigger are pending, and a topic keeps what they wrote. Source: `bulk_update_state()` in
// LangGraph 1.2.22, pregel/main.py.
BOOST_AUTO_TEST_CASE(state_update_as_end_triggers_nodes_after_finished_tasks) {
  auto e = ss::engine{{.workers = 1}};
  auto g = logging({"next"});
  g.channel("news", "topic");
  g.add("a", [](const json::value&) { return json::object{{"news", "said"}}; });
  g.add("ask", asks("?")).edge("__start__", "a").edge("__start__", "ask").edge("a", "next");
  const auto graph = g.compile(kept());
  (void)run(e, graph, json::object{}, on("t"));
  (void)e.update_state(graph, on("t"), update{.as_node = "__end__"});
  const auto now = e.get_state(graph, on("t"));
  BOOST_TEST(now.next == std::vector<std::string>{"next"}, boost::test_tools::per_element());
  BOOST_TEST(ss::detail::adapter_of(graph).state(*now.state).at("news") == json::array{"said"});
  BOOST_TEST(log_of(run(e, graph, ss::resume(), on("t"))) == "next");
}

// B198: all tasks of the step count as having run, so that the node that ran last is ambiguous.
BOOST_AUTO_TEST_CASE(state_update_as_end_counts_as_run_of_pending_tasks) {
  auto e = ss::engine{{.workers = 1}};
  auto g = logging({});
  g.add("a", asks("a?")).add("b", asks("b?")).edge("__start__", "a").edge("__start__", "b");
  const auto graph = g.compile(kept());
  (void)run(e, graph, json::object{}, on("t"));
  (void)e.update_state(graph, on("t"), update{.as_node = "__end__"});
  BOOST_CHECK_THROW((void)e.update_state(graph, on("t"), said_x), ss::graph_error);
}

// Deferred nodes wait for the nodes that the update triggers, and not for those that were pending.
// Source: `apply_writes()` in LangGraph 1.2.22, pregel/_algo.py.
BOOST_AUTO_TEST_CASE(state_update_decides_which_deferred_nodes_are_due) {
  auto e = ss::engine{{.workers = 1}};
  const auto next_of = [&](const auto& graph) { return e.get_state(graph, on("t")).next; };
  using names = std::vector<std::string>;
  const auto add_late = [](ss::json_graph& g) {
    g.add("late",
          [](const json::value&) {
            return json::object{{"log", json::array{"late"}}};
          },
          {.defer = true});
  };
  auto options = kept();
  options.interrupt_after = {"b"};
  auto g = logging({"a", "b", "other"});
  add_late(g);
  g.edge("__start__", "a").edge("__start__", "b").edge("a", "late").join({"a", "b"}, "a");
  const auto joined = g.compile(options);
  (void)run(e, joined, json::object{}, on("t"));
  BOOST_TEST(next_of(joined) == names({"a"}), boost::test_tools::per_element());
  (void)e.update_state(joined, on("t"), said_x, "other");
  BOOST_TEST(next_of(joined) == names({"a", "late"}), boost::test_tools::per_element());

  options = kept();
  options.interrupt_before = {"late"};
  auto h = logging({"a", "b", "x"});
  add_late(h);
  h.edge("__start__", "a").edge("a", "late").edge("x", "late").edge("x", "b");
  const auto due = h.compile(options);
  (void)run(e, due, json::object{}, on("t"));
  BOOST_TEST(next_of(due) == names({"late"}), boost::test_tools::per_element());
  (void)e.update_state(due, on("t"), said_x, "x");
  BOOST_TEST(next_of(due) == names({"b"}), boost::test_tools::per_element());
  (void)run(e, due, ss::resume(), on("t"));
  BOOST_TEST(log_of(run(e, due, ss::resume(), on("t"))) == "a x b late");
}

// The pending writes of a command belong to the step that it has resumed, which an update replaces.
BOOST_AUTO_TEST_CASE(state_update_drops_writes_of_unfinished_command) {
  auto e = ss::engine{{.workers = 1}};
  auto g = logging({});
  g.add("ask", asks("?")).edge("__start__", "ask");
  g.add("again", asks("!")).edge("__start__", "again");
  const auto graph = g.compile(kept());
  (void)run(e, graph, json::object{}, on("t"));
  auto says = ss::json_command{.update = json::object{{"log", json::array{"said"}}}};
  (void)run(e, graph, std::move(says), on("t"));
  BOOST_TEST(log_in(graph, e.get_state(graph, on("t"))) == "said");
  (void)e.update_state(graph, on("t"), said_x, "ask");
  BOOST_TEST(log_in(graph, e.get_state(graph, on("t"))) == "x");
}

// B200: without values only the edges of the node fire.
BOOST_AUTO_TEST_CASE(state_update_without_values_fires_edges_only) {
  auto e = ss::engine{{.workers = 1}};
  const auto graph = chain({"a", "b"});
  (void)e.update_state(graph, on("t"), update{.as_node = "a"});
  const auto now = e.get_state(graph, on("t"));
  BOOST_TEST(now.next == std::vector<std::string>{"b"}, boost::test_tools::per_element());
  BOOST_TEST(ss::detail::adapter_of(graph).state(*now.state).at("log").as_array().empty());
}

// B201: an update can select the next node, as a command does.
BOOST_AUTO_TEST_CASE(targets_of_state_update_run_in_next_step) {
  auto e = ss::engine{{.workers = 1}};
  auto g = logging({"a", "b", "c"});
  g.add("w", [](const json::value& in) { return json::object{{"log", json::array{in}}}; });
  g.sequence({"__start__", "a", "b"});
  const auto graph = g.compile(kept());
  auto edit = update{.values = said_x, .as_node = "a", .go_to = {"c", "__end__"}};
  edit.go_to.emplace_back(ss::node<json::value>{"w"}, json::value("sent"));
  (void)e.update_state(graph, on("t"), std::move(edit));
  BOOST_TEST(log_of(run(e, graph, ss::resume(), on("t"))) == "x b c sent");
}

// B205: each list is a step; its updates apply in list order.
BOOST_AUTO_TEST_CASE(bulk_update_applies_each_list_as_one_step) {
  auto e = ss::engine{{.workers = 1}};
  auto g = logging({"a", "b", "c"});
  g.edge("__start__", "a").edge("__start__", "b").join({"a", "b"}, "c");
  const auto graph = g.compile(kept());
  const auto says = [](const char* text, const char* node) {
    return update{.values = json::object{{"log", json::array{text}}}, .as_node = node};
  };
  const auto id = e.bulk_update_state(graph, on("t"),
                                      {{says("0", "__start__")}, {says("2", "b"), says("1", "a")}});
  const auto all = e.get_state_history(graph, on("t"));
  BOOST_TEST_REQUIRE(all.size() == 2U);
  BOOST_TEST(all[0].checkpoint->id == id);
  BOOST_TEST(all[0].checkpoint->step == 1);
  BOOST_TEST(log_in(graph, all[0]) == "0 2 1");
  BOOST_TEST(log_of(run(e, graph, ss::resume(), on("t"))) == "0 2 1 c");
}

// Covers behaviour B206.
BOOST_AUTO_TEST_CASE(invalid_bulk_updates_are_rejected_with_a_reason) {
  auto e = ss::engine{{.workers = 1}};
  const auto graph = chain({"a", "b"});
  const auto refusal = [&](std::vector<std::vector<update>> steps) {
    try {
      (void)e.bulk_update_state(graph, on("t"), std::move(steps));
    } catch (const ss::graph_error& failed) {
      return std::string{failed.what()};
    }
    return std::string{"applied"};
  };
  const auto clears = update{.as_node = "__end__"};
  const auto as_a = update{.values = said_x, .as_node = "a"};
  BOOST_TEST(refusal({}) ==
             "bulk_update_state(): the list of steps is empty; add at least one step");
  BOOST_TEST(refusal({{}}) ==
             "bulk_update_state(): a step has no updates; add one or remove the step");
  BOOST_TEST(refusal({{as_a, update{.values = said_x}}}) ==
             "if a step has several updates, each of them must set as_node");
  BOOST_TEST(refusal({{as_a, clears}}) ==
             "an update with as_node END and no values must be the only update of its step");
}

// B199: the copy has the same content and parent; what ran after the original runs again.
BOOST_AUTO_TEST_CASE(copied_checkpoint_keeps_parent_and_can_be_resumed) {
  auto e = ss::engine{{.workers = 1}};
  const auto graph = chain({"a", "b"});
  (void)run(e, graph, json::object{}, on("t"));
  const auto before_b = e.get_state_history(graph, on("t")).at(1);
  (void)e.copy_state(graph, at(before_b.checkpoint->id));
  const auto copy = e.get_state(graph, on("t"));
  BOOST_TEST(copy.checkpoint->parent == before_b.checkpoint->parent);
  BOOST_TEST((copy.checkpoint->source == ss::checkpoint_source::fork));
  BOOST_TEST(copy.next == before_b.next, boost::test_tools::per_element());
  BOOST_TEST(log_of(run(e, graph, ss::resume(), on("t"))) == "a b");
  BOOST_CHECK_EXCEPTION(
      (void)e.copy_state(graph, on("nobody")), ss::graph_error, [](const ss::graph_error& failed) {
        return std::string{failed.what()} == "thread 'nobody' has no checkpoint to copy";
      });
}

// B203: the update is shown as the result of the task that it replaces.
BOOST_AUTO_TEST_CASE(history_shows_state_update_as_task_result) {
  auto e = ss::engine{{.workers = 1}};
  auto options = kept();
  options.interrupt_before = {"b"};
  const auto graph = chain({"a", "b"}, options);
  (void)run(e, graph, json::object{}, on("t"));
  (void)e.update_state(graph, on("t"), said_x, "b");
  const auto all = e.get_state_history(graph, on("t"));
  BOOST_TEST_REQUIRE(all[1].tasks.size() == 1U);
  BOOST_TEST_REQUIRE(all[1].tasks[0].result.has_value());
  BOOST_TEST(json::serialize(ss::detail::adapter_of(graph).update(*all[1].tasks[0].result)) ==
             R"({"log":["x"]})");
}

namespace {

const auto said_y = json::object{{"log", json::array{"y"}}};
const auto text_for_sum = json::object{{"log", json::array{"x"}}, {"sum", "text"}};

/// A thread whose next node is b, with a branch that throws when the sum is 7.
ss::compiled_json_graph stopped_before_b(ss::engine& e,
                                         std::shared_ptr<ss::checkpointer> checkpointer) {
  auto g = logging({"a", "b"});
  g.channel("sum", "add").sequence({"__start__", "a", "b"});
  g.branch("b", [](const json::value& in) {
    if (in.at("sum") == 7)
      throw std::runtime_error{"seven"};
    return std::string{"__end__"};
  });
  auto options = ss::compile_options{};
  options.checkpointer = std::move(checkpointer);
  options.interrupt_before = {"b"};
  auto graph = g.compile(std::move(options));
  (void)run(e, graph, json::object{}, on("t"));
  return graph;
}

} // namespace

// A record of the edit would replace the task's own run when the thread is resumed.
BOOST_AUTO_TEST_CASE(failed_state_update_changes_nothing) {
  using steps = std::vector<std::vector<update>>;
  const auto as_b = [](json::object values) {
    return update{.values = std::move(values), .as_node = "b"};
  };
  const auto failing = std::vector<steps>{
      {{as_b(text_for_sum)}},                                        // the reducer
      {{as_b({{"sum", 7}})}},                                        // the branch
      {{as_b(said_x), as_b(text_for_sum)}},                          // the second update
      {{as_b(said_x), update{.values = said_y, .as_node = "zz"}}},   // its node
      {{as_b(said_x)}, {as_b(text_for_sum)}},                        // the second step
      {{as_b(said_x)}, {update{.values = said_y, .as_node = "zz"}}}, // its node
      {{as_b(said_x)}, {}},                                          // an empty step
  };
  auto e = ss::engine{{.workers = 1}};
  for (const auto& edit : failing) {
    const auto folder = temporary_folder{};
    for (const auto& checkpointer :
         {ss::memory_checkpointer(), ss::sqlite_checkpointer(folder.file())}) {
      const auto graph = stopped_before_b(e, checkpointer);
      const auto before = checkpointer->export_thread("t");
      BOOST_CHECK_THROW((void)e.bulk_update_state(graph, on("t"), edit), std::exception);
      BOOST_TEST(checkpointer->export_thread("t") == before);
      BOOST_TEST(log_of(run(e, graph, ss::resume(), on("t"))) == "a b");
    }
  }
}

// Later steps of one call build on checkpoints that are not saved yet.
BOOST_AUTO_TEST_CASE(bulk_updates_record_results_of_replaced_tasks) {
  auto e = ss::engine{{.workers = 1}};
  const auto folder = temporary_folder{};
  for (const auto& checkpointer :
       {ss::memory_checkpointer(), ss::sqlite_checkpointer(folder.file())}) {
    auto options = ss::compile_options{};
    options.checkpointer = checkpointer;
    options.interrupt_before = {"b"};
    const auto graph = chain({"a", "b", "c"}, options);
    (void)run(e, graph, json::object{}, on("t"));
    (void)e.bulk_update_state(
        graph, on("t"),
        {{update{.values = said_x, .as_node = "b"}}, {update{.values = said_y, .as_node = "c"}}});
    const auto all = e.get_state_history(graph, on("t"));
    BOOST_TEST_REQUIRE(all.size() == 5U);
    BOOST_TEST(log_in(graph, all[0]) == "a x y");
    BOOST_TEST(all[0].next.empty());
    const auto result_of = [&](const ss::state_snapshot& s) {
      BOOST_TEST_REQUIRE(s.tasks.size() == 1U);
      BOOST_TEST_REQUIRE(s.tasks[0].result.has_value());
      return json::serialize(ss::detail::adapter_of(graph).update(*s.tasks[0].result));
    };
    BOOST_TEST(result_of(all[1]) == R"({"log":["y"]})");
    BOOST_TEST(result_of(all[2]) == R"({"log":["x"]})");
  }
}

// B204: pending Sends are dropped unless the node's branches create them again.
BOOST_AUTO_TEST_CASE(state_update_replaces_pending_sends) {
  auto e = ss::engine{{.workers = 1}};
  auto g = logging({"a"});
  g.add("w", [](const json::value& in) { return json::object{{"log", json::array{in}}}; });
  g.edge("__start__", "a");
  g.branch("a", [](const json::value& in) {
    return std::vector<ss::json_target>{{"w", in.at("log").as_array().back()}};
  });
  auto options = kept();
  options.interrupt_before = {"w"};
  const auto graph = g.compile(options);
  (void)run(e, graph, json::object{}, on("t"));
  BOOST_TEST(e.get_state(graph, on("t")).next.size() == 1U);
  (void)e.update_state(graph, on("t"), said_x); // as a, which ran last
  BOOST_TEST(e.get_state(graph, on("t")).next.size() == 1U);
  BOOST_TEST(log_of(run(e, graph, ss::resume(), on("t"))) == "a x x");
  (void)run(e, graph, json::object{}, on("u"));
  (void)e.update_state(graph, on("u"), said_x, "w");
  BOOST_TEST(e.get_state(graph, on("u")).next.empty());
}

// B346, B242: a subgraph's thread is read and updated in its namespace.
BOOST_AUTO_TEST_CASE(subgraph_state_is_updated_in_its_namespace) {
  auto e = ss::engine{{.workers = 1}};
  const auto made = [](ss::compile_options options) {
    auto inner = logging({"first"});
    inner.add("ask", asks("?")).sequence({"__start__", "first", "ask"});
    return inner.compile(std::move(options));
  };
  const auto child = made({});
  auto g = logging({});
  g.add("sub", child).edge("__start__", "sub");
  const auto options = kept();
  const auto graph = g.compile(options);
  (void)run(e, graph, json::object{}, on("t"));
  const auto seen = e.get_state(graph, on("t"), true);
  BOOST_TEST_REQUIRE(seen.tasks.size() == 1U);
  BOOST_TEST_REQUIRE(seen.tasks[0].nested != nullptr);
  BOOST_TEST(log_in(child, *seen.tasks[0].nested) == "first");
  BOOST_TEST(seen.tasks[0].nested->next == std::vector<std::string>{"ask"},
             boost::test_tools::per_element());
  // the outermost graph has another state
  const auto refused = [](const ss::graph_error& failed) {
    return failed.code() == ss::graph_errc::unknown_checkpoint;
  };
  const auto there = seen.tasks[0].nested->config();
  BOOST_CHECK_EXCEPTION((void)e.update_state(graph, there, said_x), ss::graph_error, refused);
  BOOST_CHECK_EXCEPTION((void)e.get_state(graph, there), ss::graph_error, refused);
  BOOST_CHECK_EXCEPTION((void)e.get_state_history(graph, there), ss::graph_error, refused);
  const auto by_itself = made(options);
  auto inside = on("t");
  inside.thread.emplace().checkpoint_ns = seen.tasks[0].nested_ns;
  (void)e.update_state(by_itself, inside, said_x, "first");
  BOOST_TEST(log_in(child, *e.get_state(graph, on("t"), true).tasks[0].nested) == "first x");
}

namespace {

/// A graph with a branch that calls a function when it is evaluated.
ss::compiled_json_graph with_branch(std::shared_ptr<ss::checkpointer> checkpointer,
                                    std::function<void()> what) {
  auto g = logging({"a"});
  g.edge("__start__", "a");
  g.branch("a", [what = std::move(what)](const json::value&) {
    what();
    return std::string{"__end__"};
  });
  auto options = ss::compile_options{};
  options.checkpointer = std::move(checkpointer);
  return g.compile(std::move(options));
}

auto fails_with(ss::checkpoint_errc code) {
  return [code](const ss::checkpoint_error& failed) { return failed.code() == code; };
}

} // namespace

// Otherwise another process would not see the update, and a killed process would lose it.
BOOST_AUTO_TEST_CASE(state_update_that_cannot_be_saved_throws) {
  auto e = ss::engine{{.workers = 1}};
  const auto folder = temporary_folder{};
  auto options = ss::sqlite_checkpointer_options{};
  options.busy_timeout = std::chrono::milliseconds{1};
  const auto checkpointer = ss::sqlite_checkpointer(folder.file(), options);
  const auto graph = with_branch(checkpointer, [] {});
  (void)e.update_state(graph, on("t"), said_x, "a");
  auto* other = static_cast<sqlite3*>(nullptr);
  BOOST_REQUIRE(sqlite3_open(folder.file().c_str(), &other) == SQLITE_OK);
  BOOST_REQUIRE(sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr) == SQLITE_OK);
  BOOST_CHECK_EXCEPTION((void)e.update_state(graph, on("t"), said_x, "a"), ss::checkpoint_error,
                        fails_with(ss::checkpoint_errc::failed));
  sqlite3_close(other);
  (void)e.update_state(graph, on("t"), said_x, "a");
  const auto elsewhere = ss::sqlite_checkpointer(folder.file());
  BOOST_TEST(elsewhere->show({"t", ""})->at("values").at("log").as_array().size() == 2U);
}

BOOST_AUTO_TEST_CASE(state_update_fails_with_conflict_after_concurrent_write) {
  auto e = ss::engine{{.workers = 1}};
  const auto folder = temporary_folder{};
  auto meanwhile = std::function<void()>{};
  const auto graph = with_branch(ss::sqlite_checkpointer(folder.file()), [&] {
    if (meanwhile)
      meanwhile();
  });
  const auto id = e.update_state(graph, on("t"), said_x, "a");
  const auto elsewhere = ss::sqlite_checkpointer(folder.file());
  meanwhile = [&] {
    auto theirs =
        *elsewhere->load({"t", ""}, "", ss::detail::program_of(graph)->layout())->checkpoint;
    theirs.parent = std::exchange(theirs.id, ss::next_checkpoint_id(id, ""));
    elsewhere->put({"t", ""}, std::make_shared<ss::checkpoint>(theirs));
    wait_until_saved(*elsewhere);
  };
  BOOST_CHECK_EXCEPTION((void)e.update_state(graph, on("t"), said_x, "a"), ss::checkpoint_error,
                        fails_with(ss::checkpoint_errc::conflict));
  BOOST_TEST(log_in(graph, e.get_state(graph, on("t"))) == "x");
}

BOOST_AUTO_TEST_CASE(state_update_with_longest_timeout_waits_for_the_thread) {
  auto e = ss::engine{{.workers = 1}};
  const auto checkpointer = ss::memory_checkpointer();
  const auto graph = with_branch(checkpointer, [] {});
  auto lease = ss::lease_ptr{};
  checkpointer->take("t", ss::busy_policy::refuse, [&](auto got) { lease = *std::move(got); });
  auto editing = std::async(std::launch::async, [&] {
    return e.update_state(graph, on("t"), update{said_x, "a"}, std::chrono::milliseconds::max());
  });
  BOOST_TEST((editing.wait_for(std::chrono::milliseconds{50}) == std::future_status::timeout));
  lease.reset();
  (void)editing.get();
  BOOST_TEST(log_in(graph, e.get_state(graph, on("t"))) == "x");
}

BOOST_AUTO_TEST_CASE(state_update_holds_exclusive_lease_on_thread) {
  auto e = ss::engine{{.workers = 1}};
  const auto checkpointer = ss::memory_checkpointer();
  const auto other = with_branch(checkpointer, [] {});
  auto edits = 0;
  const auto graph = with_branch(checkpointer, [&] {
    ++edits;
    BOOST_CHECK_EXCEPTION(
        (void)e.update_state(other, on("t"), update{said_x, "a"}, std::chrono::milliseconds{0}),
        ss::checkpoint_error, fails_with(ss::checkpoint_errc::in_use));
    BOOST_CHECK_EXCEPTION((void)e.copy_state(other, on("t"), std::chrono::milliseconds{1}),
                          ss::checkpoint_error, fails_with(ss::checkpoint_errc::in_use));
  });
  (void)e.update_state(graph, on("t"), said_x, "a");
  BOOST_TEST(edits == 1);
  (void)e.update_state(other, on("t"), said_x, "a");
  BOOST_TEST(log_in(graph, e.get_state(graph, on("t"))) == "x x");
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: Apache-2.0
// History, replays and forks of threads. Comments give the behaviours of docs/behaviours.md that a
// test covers.
#include "checkpoint/sqlite_fixtures.hpp"
#include "graph_api/threads.hpp"

#include <superstep/checkpoint/sqlite.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <functional>
#include <stdexcept>

using namespace graph_api;

BOOST_AUTO_TEST_SUITE(history)

// B207, B209: newest first, each entry as it was before its following step.
BOOST_AUTO_TEST_CASE(history_is_newest_first_with_next_nodes) {
  auto e = ss::engine{{.workers = 1}};
  const auto graph = chain({"a", "b"});
  (void)run(e, graph, json::object{}, on("t"));
  const auto all = e.get_state_history(graph, on("t"));
  BOOST_TEST_REQUIRE(all.size() == 4U); // of b, a, START and the input
  BOOST_TEST(log_in(graph, all[0]) == "a b");
  BOOST_TEST(all[0].next.empty());
  BOOST_TEST(log_in(graph, all[1]) == "a");
  BOOST_TEST(all[1].next == std::vector<std::string>{"b"}, boost::test_tools::per_element());
  BOOST_TEST_REQUIRE(all[1].tasks.size() == 1U);
  BOOST_TEST(all[1].tasks[0].task == "b");
  BOOST_TEST(all[1].tasks[0].result.has_value());
  BOOST_TEST(all[2].next == std::vector<std::string>{"a"}, boost::test_tools::per_element());
}

// B208: the filter is applied before the limit.
BOOST_AUTO_TEST_CASE(history_query_filters_entries_before_limiting_them) {
  auto e = ss::engine{{.workers = 1}};
  const auto graph = chain({"a", "b"});
  (void)run(e, graph, json::object{}, on("t"));
  const auto all = e.get_state_history(graph, on("t"));
  auto query = ss::checkpoint_query{};
  query.source = ss::checkpoint_source::loop;
  query.before = all[0].checkpoint->id;
  query.limit = 1;
  const auto some = e.get_state_history(graph, on("t"), query);
  BOOST_TEST_REQUIRE(some.size() == 1U);
  BOOST_TEST(some[0].checkpoint->id == all[1].checkpoint->id);
  query = {};
  query.step = -1;
  BOOST_TEST(e.get_state_history(graph, on("t"), query).size() == 1U);
}

// B243: the entries of a configuration that LangGraph stores, and no others.
BOOST_AUTO_TEST_CASE(scalar_config_entries_are_stored_as_metadata) {
  auto e = ss::engine{{.workers = 1}};
  const auto graph = chain({"a", "b"});
  auto config = on("t");
  config.metadata = {{"user", "u1"},     {"n", 3},
                     {"share", 0.5},     {"is_new", true},
                     {"list", {1, 2}},   {"none", nullptr},
                     {"__secret", "x"},  {"source", "mine"},
                     {"langgraph_x", 1}, {"text", std::string_view{"a\0b", 3}}};
  config.configurable = {{"user", "other"}, {"region", "eu"}, {"thread_id", "t"}};
  (void)run(e, graph, json::object{}, std::move(config));
  const auto kept = json::object{{"user", "u1"},   {"n", 3},       {"share", 0.5},
                                 {"is_new", true}, {"text", "ab"}, {"region", "eu"}};
  for (const auto& point : e.get_state_history(graph, on("t"))) {
    BOOST_TEST_REQUIRE(point.checkpoint->metadata != nullptr);
    BOOST_TEST((*point.checkpoint->metadata == kept));
  }
  (void)run(e, graph, json::object{}, on("t")); // another run without metadata
  auto query = ss::checkpoint_query{};
  query.metadata = {{"region", "eu"}};
  BOOST_TEST(e.get_state_history(graph, on("t"), query).size() == 4U);
  BOOST_TEST(e.get_state_history(graph, on("t")).size() == 8U);
}

BOOST_AUTO_TEST_CASE(edits_store_entries_of_their_config) {
  auto e = ss::engine{{.workers = 1}};
  const auto graph = chain({"a", "b"});
  (void)run(e, graph, json::object{}, on("t"));
  auto config = on("t");
  config.metadata = {{"user", "u1"}, {"list", {1, 2}}};
  config.configurable = {{"region", "eu"}};
  e.update_state(graph, config, json::object{}, "b");
  const auto kept = json::object{{"user", "u1"}, {"region", "eu"}};
  const auto edited = e.get_state(graph, on("t"));
  BOOST_TEST_REQUIRE(edited.checkpoint->metadata != nullptr);
  BOOST_TEST((*edited.checkpoint->metadata == kept));

  e.copy_state(graph, config);
  BOOST_TEST(e.get_state(graph, on("t")).checkpoint->metadata == nullptr);
}

// B241: ids sort as text in order of creation, whichever process created them.
BOOST_AUTO_TEST_CASE(checkpoint_ids_increase_across_restarts) {
  const auto folder = temporary_folder{};
  auto newest = std::string{};
  for (auto process = 1; process <= 3; ++process) {
    auto e = ss::engine{{.workers = 1}};
    const auto graph = chain({"a", "b"}, {.checkpointer = open_checkpointer(folder.file())});
    (void)run(e, graph, json::object{}, on("t"));
    const auto all = e.get_state_history(graph, on("t"));
    BOOST_TEST_REQUIRE(all.size() == 4U * static_cast<std::size_t>(process));
    BOOST_TEST(all[3].checkpoint->id > newest);
    BOOST_TEST(std::ranges::is_sorted(
        all, std::greater{}, [](const auto& s) -> const auto& { return s.checkpoint->id; }));
    newest = all[0].checkpoint->id;
  }
}

// Covers behaviour B210.
BOOST_AUTO_TEST_CASE(unused_thread_has_an_empty_snapshot) {
  const auto snapshot = ss::engine{{.workers = 1}}.get_state(chain({"a"}), on("nobody"));
  BOOST_TEST(snapshot.checkpoint == nullptr);
  BOOST_TEST(snapshot.next.empty());
  BOOST_TEST(snapshot.tasks.empty());
}

// B211, B214, B215: a replay repeats the steps from there; the old branch is unchanged.
BOOST_AUTO_TEST_CASE(replay_forks_and_keeps_old_branch) {
  auto e = ss::engine{{.workers = 1}};
  const auto graph = chain({"a", "b"});
  (void)run(e, graph, json::object{}, on("t"));
  const auto before_b = e.get_state_history(graph, on("t")).at(1).checkpoint->id;
  for (auto branches = std::size_t{1}; branches < 3; ++branches) {
    BOOST_TEST(log_of(run(e, graph, ss::resume(), at(before_b))) == "a b");
    const auto all = e.get_state_history(graph, on("t"));
    BOOST_TEST_REQUIRE(all.size() == 4 + 2 * branches); // each replay adds those of the fork and b
    BOOST_TEST((all[1].checkpoint->source == ss::checkpoint_source::fork));
    BOOST_TEST(all[1].checkpoint->parent == before_b);
  }
}

// Covers behaviour B212.
BOOST_AUTO_TEST_CASE(replay_from_final_checkpoint_runs_nothing) {
  auto e = ss::engine{{.workers = 1}};
  auto calls = 0;
  auto g = logging({});
  g.add("a", [&](const json::value&) {
    ++calls;
    return said_x;
  });
  g.edge("__start__", "a");
  const auto graph = g.compile(kept());
  (void)run(e, graph, json::object{}, on("t"));
  const auto head = e.get_state_history(graph, on("t")).at(0).checkpoint->id;
  BOOST_TEST(log_of(run(e, graph, ss::resume(), at(head))) == "x");
  BOOST_TEST(calls == 1);
}

// B213, B219: a state update or an input at an older checkpoint starts a new branch.
BOOST_AUTO_TEST_CASE(update_or_input_at_old_checkpoint_creates_fork) {
  auto e = ss::engine{{.workers = 1}};
  const auto graph = chain({"a", "b"});
  (void)run(e, graph, json::object{}, on("t"));
  const auto before_b = e.get_state_history(graph, on("t")).at(1).checkpoint->id;
  (void)e.update_state(graph, at(before_b), said_x);
  BOOST_TEST(log_of(run(e, graph, ss::resume(), on("t"))) == "a x b");
  BOOST_TEST(log_of(run(e, graph, said_x, at(before_b))) == "a x a b");
  const auto all = e.get_state_history(graph, on("t"));
  BOOST_TEST((all[3].checkpoint->source == ss::checkpoint_source::input));
  BOOST_TEST(all[3].checkpoint->parent == before_b);
}

// B216: a replay repeats interrupts, whatever the previous answers.
BOOST_AUTO_TEST_CASE(replay_repeats_already_answered_interrupts) {
  auto e = ss::engine{{.workers = 1}};
  auto g = logging({"a"});
  g.add("ask", asks("?")).sequence({"__start__", "a", "ask"});
  const auto graph = g.compile(kept());
  (void)run(e, graph, json::object{}, on("t"));
  BOOST_TEST(log_of(run(e, graph, answer("yes"), on("t"))) == "a yes");
  const auto before = e.get_state_history(graph, on("t")).at(1).checkpoint->id;
  const auto again = run(e, graph, ss::resume(), at(before));
  BOOST_TEST_REQUIRE((again.raw.status == ss::run_status::interrupted));
  BOOST_TEST(log_of(run(e, graph, answer("no"), on("t"))) == "a no");
}

// Covers behaviour B220.
BOOST_AUTO_TEST_CASE(step_numbers_continue_across_inputs_of_thread) {
  auto e = ss::engine{{.workers = 1}};
  const auto graph = chain({"a"});
  (void)run(e, graph, json::object{}, on("t"));
  (void)run(e, graph, json::object{}, on("t"));
  auto steps = std::vector<std::int64_t>{};
  for (const auto& s : e.get_state_history(graph, on("t")))
    steps.push_back(s.checkpoint->step);
  BOOST_TEST(steps == (std::vector<std::int64_t>{4, 3, 2, 1, 0, -1}),
             boost::test_tools::per_element());
}

// B222, B223: failed tasks report their errors; finished Sends are not repeated.
BOOST_AUTO_TEST_CASE(only_failed_tasks_report_errors_and_rerun) {
  auto e = ss::engine{{.workers = 1}};
  auto calls = 0;
  auto fails = true;
  auto g = logging({});
  g.add("w", [&](const json::value& in) {
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
  const auto seen = e.get_state(graph, on("t"));
  BOOST_TEST(seen.next == std::vector<std::string>{"w"}, boost::test_tools::per_element());
  BOOST_TEST_REQUIRE(seen.tasks.size() == 3U);
  BOOST_TEST(seen.tasks[1].error.find("no y today") != std::string::npos);
  BOOST_TEST(seen.tasks[0].error.empty());
  BOOST_TEST(log_in(graph, seen) == "x z"); // writes of the other tasks are already shown
  fails = false;
  BOOST_TEST(log_of(run(e, graph, ss::resume(), on("t"))) == "x y z");
  BOOST_TEST(calls == 4);
}

/// A subgraph's persistent state is that of the chosen time, even if most of it was pruned.
BOOST_AUTO_TEST_CASE(pruned_thread_resumes_like_unpruned_thread) {
  for (const auto* name : {"mail", "mail@work"}) {
    const auto folder = temporary_folder{};
    const auto checkpointer = ss::sqlite_checkpointer(folder.file());
    auto lasting = ss::compile_options{};
    lasting.persistence = ss::persistence::per_thread;
    auto inner = logging({"x", "y"});
    const auto child = inner.sequence({"__start__", "x", "y"}).compile(lasting);
    auto g = logging({"a", "b"});
    g.add(name, child).sequence({"__start__", "a", name, "b"});
    auto options = ss::compile_options{};
    options.checkpointer = checkpointer;
    const auto graph = g.compile(options);
    auto e = ss::engine{{.workers = 1}};
    for (auto i = 0; i < 3; ++i)
      (void)run(e, graph, json::object{}, on("whole"));
    checkpointer->import_thread("t", checkpointer->export_thread("whole"));
    BOOST_TEST(checkpointer->prune({.thread_id = "t", .keep_last = 3}) > 0U);
    const auto left = e.get_state_history(graph, on("t"));
    BOOST_TEST(left.size() == 3U);
    const auto resume = [&](const std::string& thread, const std::string& from) {
      auto config = at(from);
      config.thread_id = thread;
      return log_of(run(e, graph, ss::resume(), config));
    };
    for (const auto& s : left)
      if (!s.next.empty())
        BOOST_TEST(resume("t", s.checkpoint->id) == resume("whole", s.checkpoint->id));
    BOOST_TEST(log_of(run(e, graph, json::object{}, on("t"))) ==
               log_of(run(e, graph, json::object{}, on("whole"))));
  }
}

// The state of a subgraph is its newest one, also in the state at a named checkpoint: its finished
// tasks are not listed as next, and their writes are applied. Source: `_prepare_state_snapshot()`
// in LangGraph 1.2.22, pregel/main.py.
BOOST_AUTO_TEST_CASE(state_at_named_checkpoint_shows_live_state_of_subgraph) {
  auto e = ss::engine{{.workers = 1}};
  auto inner = logging({"says"});
  inner.add("ask", asks("?")).edge("__start__", "ask").edge("__start__", "says");
  const auto child = inner.compile();
  auto g = logging({});
  g.add("sub", child).edge("__start__", "sub");
  const auto graph = g.compile(kept());
  (void)run(e, graph, json::object{}, on("t"));
  const auto newest = e.get_state(graph, on("t")).checkpoint->id;
  const auto named = e.get_state(graph, at(newest), true);
  BOOST_TEST_REQUIRE(named.tasks.size() == 1U);
  const auto& below = *named.tasks[0].nested;
  BOOST_TEST(below.next == std::vector<std::string>{"ask"}, boost::test_tools::per_element());
  BOOST_TEST(log_in(child, below) == "says");
}

/// Interrupts, answers and later steps are repeated.
BOOST_AUTO_TEST_CASE(thread_cut_before_answer_interrupts_again) {
  auto inner = logging({"first"});
  inner.add("ask", asks("?")).sequence({"__start__", "first", "ask"});
  const auto child = inner.compile();
  auto g = logging({});
  auto booked = 0;
  g.add("sub", child).edge("__start__", "sub");
  g.add("book", [&booked](const json::value&) {
    ++booked;
    return json::object{};
  });
  g.edge("__start__", "book");
  auto options = kept();
  const auto checkpointer = options.checkpointer;
  const auto graph = g.compile(options);
  auto e = ss::engine{{.workers = 1}};
  BOOST_REQUIRE((run(e, graph, json::object{}, on("t")).raw.status == ss::run_status::interrupted));
  const auto question = e.get_state(graph, on("t")).checkpoint->id;
  BOOST_TEST(log_of(run(e, graph, answer("yes"), on("t"))) == "first yes");
  checkpointer->import_thread("again", ss::cut_thread(checkpointer->export_thread("t"), question));
  const auto stands = e.get_state(graph, on("again"), true);
  BOOST_TEST((stands.next == std::vector<std::string>{"sub", "book"}));
  BOOST_TEST(!stands.tasks[0].nested->checkpoint);
  BOOST_TEST(booked == 1);
  BOOST_REQUIRE(
      (run(e, graph, ss::resume(), on("again")).raw.status == ss::run_status::interrupted));
  BOOST_TEST(booked == 2);
  BOOST_TEST(log_of(run(e, graph, answer("no"), on("again"))) == "first no");
  BOOST_TEST(log_in(graph, e.get_state(graph, on("t"))) == "first yes");
}

namespace {

/// A graph whose node `a` chooses the node `target`, with a branch, a Command or a Send. The node
/// `b` runs at the same time as `a`.
ss::json_graph choosing(const std::string& target, const std::string& how) {
  auto g = logging({target, "fin"});
  if (how == "branch") {
    g.add("a", logs("a"));
    g.branch("a", [target](const json::value&) { return target; });
  } else {
    const auto to = how == "Send" ? ss::json_target{target, json::value(json::object{})}
                                  : ss::json_target{target};
    g.add("a",
          [to](const json::value&) {
            auto out = ss::json_command{};
            out.update = json::object{{"log", json::array{"a"}}};
            out.go_to = {to};
            return out;
          },
          {.destinations = {target}});
  }
  g.edge("__start__", "a").edge("__start__", "b").edge(target, "fin");
  return g;
}

/// Calls `test` for each way to choose and each checkpointer, with a function that compiles the
/// graph for a target.
/// @param b the function of the node `b`
template <class Node, class Test>
void for_each_choice(const Node& b, const Test& test) {
  for (const auto* how : {"branch", "Command", "Send"}) {
    const auto folder = temporary_folder{};
    for (const auto& checkpointer :
         {ss::sqlite_checkpointer(folder.file()), ss::memory_checkpointer()})
      test([&](const char* target) {
        return choosing(target, how).add("b", b).compile({.checkpointer = checkpointer});
      });
  }
}

} // namespace

BOOST_AUTO_TEST_CASE(history_is_readable_after_removal_of_chosen_node) {
  auto e = ss::engine{{.workers = 1}};
  for_each_choice(logs("b"), [&](const auto& with) {
    (void)run(e, with("old"), json::object{}, on("t"));
    const auto changed = with("new");
    const auto all = e.get_state_history(changed, on("t"));
    BOOST_TEST_REQUIRE(all.size() == 5U);
    BOOST_TEST(log_in(changed, all[0]) == "a b old fin");
    const auto before_old = run(e, changed, ss::resume(), at(all[2].checkpoint->id));
    BOOST_TEST((before_old.raw.error->code == ss::checkpoint_errc::node_gone));
    const auto before_a = run(e, changed, ss::resume(), at(all[3].checkpoint->id));
    BOOST_TEST(log_of(before_a) == "a b new fin");
  });
}

BOOST_AUTO_TEST_CASE(resume_reports_removed_node_that_finished_task_chose) {
  auto e = ss::engine{{.workers = 1}};
  for_each_choice(asks("?"), [&](const auto& with) {
    const auto old = with("old");
    const auto changed = with("new");
    (void)run(e, old, json::object{}, on("t"));
    BOOST_TEST(log_in(changed, e.get_state(changed, on("t"))) == "a");
    const auto refused = run(e, changed, answer("yes"), on("t"));
    BOOST_REQUIRE(refused.raw.error);
    BOOST_TEST((refused.raw.error->code == ss::checkpoint_errc::node_gone));
    BOOST_TEST(refused.raw.error->text.find("'old'") != std::string::npos);
    BOOST_TEST(log_of(run(e, old, answer("yes"), on("t"))) == "a yes old fin");
    (void)run(e, old, json::object{}, on("u"));
    const auto started = run(e, changed, json::object{}, on("u")); // drops the choice of `old`
    BOOST_TEST(started.raw.interrupts.size() == 1U);
    BOOST_TEST(log_of(run(e, changed, answer("no"), on("u"))) == "a no new fin");
  });
}

BOOST_AUTO_TEST_SUITE_END()

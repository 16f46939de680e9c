// SPDX-License-Identifier: Apache-2.0
// Errors of graphs and runs and their texts: what failed, where (node, step, channel, thread) and
// what to do.
#include "checkpoint/sqlite_fixtures.hpp"
#include "graph_api/threads.hpp"
#include "support/file_size_limit.hpp"

#include <boost/test/unit_test.hpp>

#include <functional>
#include <map>
#include <stdexcept>

using namespace graph_api;

BOOST_AUTO_TEST_SUITE(errors)

namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// A graph with a node `bad` in the step after `first`.
ss::compiled_json_graph behind_first(std::function<void(ss::json_graph&)> add,
                                     ss::compile_options options = {}) {
  auto g = logging({"first"});
  g.channel("x");
  add(g);
  g.sequence({"__start__", "first", "bad"});
  return g.compile(std::move(options));
}

ss::run_error error_of(const ss::compiled_json_graph& graph, ss::run_config config = {}) {
  auto e = ss::engine{{.workers = 1}};
  const auto ended = run(e, graph, json::object{}, std::move(config));
  BOOST_REQUIRE(ended.raw.error.has_value());
  return *ended.raw.error;
}

void body(ss::json_graph& g, std::function<ss::json_command()> f) {
  g.add("bad", [f = std::move(f)](const json::value&) { return f(); });
}

/// A graph that interrupts twice and waits for two answers.
ss::compiled_json_graph two_questions(ss::compile_options options = kept()) {
  auto g = logging({});
  g.add("a", asks("a?")).add("b", asks("b?"));
  g.edge("__start__", "a").edge("__start__", "b");
  return g.compile(std::move(options));
}

} // namespace

BOOST_AUTO_TEST_CASE(body_exception_error_names_node_task_and_step) {
  const auto e = error_of(behind_first([](auto& g) {
    body(g, []() -> ss::json_command { throw std::runtime_error{"no paper"}; });
  }));
  BOOST_TEST((e.code == ss::graph_errc::node_failed));
  BOOST_TEST(e.text == "node 'bad' (task bad, step 2) failed: no paper");
  BOOST_TEST(e.node == "bad");
  BOOST_TEST(e.step == 2);
}

BOOST_AUTO_TEST_CASE(unknown_channel_error_names_node) {
  const auto e = error_of(behind_first([](auto& g) {
    body(g, [] { return ss::json_command{json::object{{"y", 1}}}; });
  }));
  BOOST_TEST(has(e.text, "'bad'"));
  BOOST_TEST(has(e.text, "step 2"));
  BOOST_TEST(has(e.text, "the update names 'y', which is not a channel of the graph"));
}

BOOST_AUTO_TEST_CASE(conflicting_writes_error_names_the_channel) {
  const auto e = error_of(behind_first([](auto& g) {
    body(g, [] {
      return ss::json_command{json::object{{"x", 1}}, {}, {json::value(json::object{{"x", 2}})}};
    });
  }));
  BOOST_TEST(
      (e.code == ss::channel_errc::invalid_update || e.code == ss::graph_errc::invalid_update));
  BOOST_TEST(has(e.text, "At key 'x': Can receive only one value per step"));
  BOOST_TEST(e.step == 2);
}

BOOST_AUTO_TEST_CASE(failed_reducer_error_names_its_channel) {
  const auto e = error_of(behind_first([](auto& g) {
    body(g, [] { return ss::json_command{json::object{{"log", 1}}}; });
  }));
  BOOST_TEST(has(e.text, "the reducer of channel 'log' failed: append expects lists, got 1"));
  BOOST_TEST(e.step == 2);
}

BOOST_AUTO_TEST_CASE(unknown_target_error_names_target_and_source) {
  const auto e = error_of(behind_first([](auto& g) {
    body(g, [] { return ss::json_command{{}, {"nobody"}}; });
  }));
  BOOST_TEST(has(e.text, "'bad'"));
  BOOST_TEST(has(e.text, "has no node 'nobody' to go to"));
}

BOOST_AUTO_TEST_CASE(send_to_end_error_names_the_sending_node) {
  const auto e = error_of(behind_first([](auto& g) {
    body(g, [] { return ss::json_command{{}, {ss::json_target{"__end__", json::value(1)}}}; });
  }));
  BOOST_TEST(has(e.text, "a Send cannot go to END"));
  BOOST_TEST(e.node == "bad");
}

BOOST_AUTO_TEST_CASE(invalid_branch_result_error_names_node) {
  const auto choosing = [](const char* what) {
    return error_of(behind_first([what](auto& g) {
      g.add("bad", logs("bad")).branch("bad", [what](const json::value&) { return what; });
    }));
  };
  BOOST_TEST(has(choosing("").text, "a branch returned START or an empty name"));
  BOOST_TEST(choosing("__start__").node == "bad");
}

BOOST_AUTO_TEST_CASE(unmapped_branch_label_error_names_label_and_node) {
  const auto e = error_of(behind_first([](auto& g) {
    g.add("bad", logs("bad"));
    g.branch("bad", [](const json::value&) { return "left"; }, {{"right", "first"}});
  }));
  BOOST_TEST(has(e.text, "a branch returned 'left', which its path map does not contain"));
  BOOST_TEST(e.node == "bad");
}

BOOST_AUTO_TEST_CASE(recursion_limit_error_states_the_limit) {
  auto config = ss::run_config{};
  config.recursion_limit = 2;
  const auto e = error_of(behind_first([](auto& g) { g.add("bad", logs("bad")); }), config);
  BOOST_TEST((e.code == ss::graph_errc::recursion_limit));
  BOOST_TEST(has(e.text, "Recursion limit of 2 reached"));
}

// B025: rejected before anything runs.
BOOST_AUTO_TEST_CASE(recursion_limit_below_one_is_rejected) {
  auto e = ss::engine{{.workers = 1}};
  const auto graph = behind_first([](auto& g) { g.add("bad", logs("bad")); });
  auto config = ss::run_config{};
  config.recursion_limit = 0;
  const auto is_told = [](const ss::graph_error& failed) {
    return failed.code() == ss::errc::invalid_argument &&
           std::string{failed.what()} == "run_config::recursion_limit must be at least 1";
  };
  BOOST_CHECK_EXCEPTION(e.invoke(graph, json::object{}, config), ss::graph_error, is_told);
  const auto refused = e.try_invoke(graph, json::object{}, config);
  BOOST_TEST_REQUIRE(refused.error.has_value());
  BOOST_TEST((refused.error->code == ss::errc::invalid_argument));
}

BOOST_AUTO_TEST_CASE(state_query_without_checkpointer_is_an_error) {
  auto e = ss::engine{{.workers = 1}};
  const auto graph = behind_first([](auto& g) { g.add("bad", logs("bad")); });
  BOOST_CHECK_EXCEPTION((void)e.get_state(graph, on("t")), ss::graph_error,
                        [](const ss::graph_error& failed) {
                          return failed.code() == ss::graph_errc::no_checkpointer &&
                                 has(failed.what(), "has no checkpointer");
                        });
}

BOOST_AUTO_TEST_CASE(unknown_checkpoint_error_names_thread) {
  const auto graph = behind_first([](auto& g) { g.add("bad", logs("bad")); }, kept());
  auto config = on("t");
  config.thread.emplace().checkpoint_id = "17";
  const auto e = error_of(graph, config);
  BOOST_TEST((e.code == ss::graph_errc::unknown_checkpoint));
  BOOST_TEST(e.text == "thread 't' has no checkpoint '17'");
}

BOOST_AUTO_TEST_CASE(one_answer_to_several_interrupts_is_rejected) {
  auto e = ss::engine{{.workers = 1}};
  const auto graph = two_questions();
  BOOST_TEST(run(e, graph, json::object{}, on("t")).raw.interrupts.size() == 2U);
  const auto refused = run(e, graph, answer(1), on("t"));
  BOOST_TEST_REQUIRE(refused.raw.error.has_value());
  BOOST_TEST((refused.raw.error->code == ss::graph_errc::ambiguous_resume));
  BOOST_TEST(has(refused.raw.error->text, "pass their resume values by id"));
  BOOST_TEST(has(refused.raw.error->text, "thread 't' has 2 pending interrupts"));
}

BOOST_AUTO_TEST_CASE(one_answer_to_several_interrupts_of_a_subgraph_is_rejected) {
  auto e = ss::engine{{.workers = 1}};
  auto g = logging({});
  g.add("sub", two_questions({})).edge("__start__", "sub");
  const auto graph = g.compile(kept());
  const auto stopped = run(e, graph, json::object{}, on("t"));
  BOOST_TEST_REQUIRE(stopped.raw.interrupts.size() == 2U);
  const auto refused = run(e, graph, answer(1), on("t"));
  BOOST_TEST_REQUIRE(refused.raw.error.has_value());
  BOOST_TEST((refused.raw.error->code == ss::graph_errc::ambiguous_resume));
  auto one = ss::resume({{stopped.raw.interrupts[0].id, 1}});
  BOOST_TEST(run(e, graph, std::move(one), on("t")).raw.interrupts.size() == 1U);
  const auto done = run(e, graph, answer(2), on("t"));
  BOOST_TEST(!done.raw.error.has_value());
  BOOST_TEST(done.raw.interrupts.empty());
}

BOOST_AUTO_TEST_CASE(unknown_interrupt_error_names_thread_and_id) {
  auto e = ss::engine{{.workers = 1}};
  const auto graph = two_questions();
  (void)run(e, graph, json::object{}, on("t"));
  const auto id = std::string(32, 'a');
  auto said = ss::resume({{id, 1}});
  const auto refused = run(e, graph, std::move(said), on("t"));
  BOOST_TEST_REQUIRE(refused.raw.error.has_value());
  BOOST_TEST((refused.raw.error->code == ss::graph_errc::unknown_interrupt));
  BOOST_TEST(refused.raw.error->text == "thread 't' has no pending interrupt '" + id + "'");
}

BOOST_AUTO_TEST_CASE(resume_with_members_of_an_object_error_advises_json_value) {
  auto e = ss::engine{{.workers = 1}};
  const auto graph = two_questions();
  (void)run(e, graph, json::object{}, on("t"));
  const auto refused = run(e, graph, ss::resume({{"approved", true}}), on("t"));
  BOOST_TEST_REQUIRE(refused.raw.error.has_value());
  BOOST_TEST((refused.raw.error->code == ss::graph_errc::unknown_interrupt));
  BOOST_TEST(refused.raw.error->text ==
             "thread 't' has no pending interrupt 'approved'; to pass an object as one resume "
             "value, write resume(json::value{{key, value}, ...})");
}

BOOST_AUTO_TEST_CASE(state_update_with_ambiguous_node_is_rejected) {
  auto e = ss::engine{{.workers = 1}};
  auto g = logging({"a", "b"});
  g.edge("__start__", "a").edge("__start__", "b");
  const auto graph = g.compile(kept());
  (void)run(e, graph, json::object{}, on("t"));
  BOOST_CHECK_EXCEPTION((void)e.update_state(graph, on("t"), json::object{}), ss::graph_error,
                        [](const ss::graph_error& failed) {
                          return has(failed.what(),
                                     "it is ambiguous which node ran last: set as_node");
                        });
}

BOOST_AUTO_TEST_CASE(breakpoint_at_unknown_node_is_rejected) {
  auto config = ss::run_config{};
  config.thread.emplace().interrupt_before = std::vector<std::string>{"nobody"};
  const auto e = error_of(behind_first([](auto& g) { g.add("bad", logs("bad")); }), config);
  BOOST_TEST((e.code == ss::graph_errc::unknown_node));
}

/// The graph of the calling body has other channels and nodes than the command names.
BOOST_AUTO_TEST_CASE(command_from_nested_invoke_must_fit_calling_graph) {
  auto inner = logging({});
  inner.add("says", [](const json::value&) {
    auto c = ss::json_command{};
    c.go_to = {ss::json_target{"nobody"}};
    c.to_parent = true;
    return c;
  });
  inner.edge("__start__", "says");
  const auto child = inner.compile();
  const auto e = error_of(behind_first([&](auto& g) {
    g.add("bad", [child](const json::value&, ss::runtime rt) -> ss::task<json::object> {
      auto running = rt.invoke(child, json::object{});
      co_return co_await running;
    });
  }));
  BOOST_TEST(has(e.text, "'nobody'"));
  BOOST_TEST(e.node == "bad");
}

/// Everything up to the last saved super-step is kept, and finished tasks are not repeated.
BOOST_AUTO_TEST_CASE(resume_completes_run_after_full_disk_failure) {
  for (const auto when : {ss::durability::async, ss::durability::sync}) {
    const auto folder = temporary_folder{};
    auto options = ss::compile_options{};
    options.checkpointer = ss::sqlite_checkpointer(folder.file());
    auto firsts = 0;
    auto g = logging({"last"});
    g.add("first", [&firsts](const json::value&) {
      ++firsts;
      return json::object{{"log", json::array{"first"}}};
    });
    g.add("big", [](const json::value&) {
      auto text = std::string{}; // hardly compressible
      for (auto n = 1U; text.size() < 800'000; n = n * 1664525U + 1013904223U)
        text += static_cast<char>('a' + (n >> 24) % 26);
      return json::object{{"log", json::array{std::move(text)}}};
    });
    g.sequence({"__start__", "first", "big", "last"});
    const auto graph = g.compile(std::move(options));
    auto config = on("t");
    config.thread.emplace().durability = when;
    auto e = ss::engine{{.workers = 1}};
    auto broke_off = outcome{};
    {
      const auto tight = file_size_limit{200'000};
      broke_off = run(e, graph, json::object{}, config);
    }
    BOOST_TEST_REQUIRE(broke_off.raw.error.has_value());
    BOOST_TEST((broke_off.raw.error->code == ss::checkpoint_errc::failed));
    for (const auto& part :
         {folder.file(), std::string{"make room"}, std::string{"what was saved before is safe"}})
      BOOST_TEST(has(broke_off.raw.error->text, part), broke_off.raw.error->text);
    const auto stands = e.get_state(graph, on("t"));
    BOOST_TEST(log_in(graph, stands) == "first");
    BOOST_TEST(stands.next == std::vector<std::string>{"big"}, boost::test_tools::per_element());
    const auto ended = run(e, graph, ss::resume(), config);
    BOOST_TEST(!ended.raw.error.has_value());
    BOOST_TEST(ended.state.at("log").as_array().size() == 3U);
    BOOST_TEST(firsts == 1);
  }
}

BOOST_AUTO_TEST_CASE(compiled_graph_takes_no_further_parts) {
  auto g = logging({"a"});
  g.edge("__start__", "a");
  static_cast<void>(g.compile());
  const auto says_why = [](const ss::compile_error& e) {
    return has(e.what(), "the graph is already compiled");
  };
  BOOST_CHECK_EXCEPTION(g.edge("a", "__end__"), ss::compile_error, says_why);
  BOOST_CHECK_EXCEPTION(
      g.on_error([](const json::value&, const ss::runtime&) { return json::object{}; }),
      ss::compile_error, says_why);
}

BOOST_AUTO_TEST_SUITE_END()

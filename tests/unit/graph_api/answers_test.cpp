// SPDX-License-Identifier: Apache-2.0
// Resume values are kept when the task that received them fails, so that no question is asked
// twice.
#include "checkpoint/sqlite_fixtures.hpp"
#include "graph_api/threads.hpp"

#include <superstep/base/await.hpp>
#include <superstep/checkpoint/sqlite.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <stdexcept>

using namespace graph_api;

BOOST_AUTO_TEST_SUITE(resume_values)

namespace {

using questions = std::vector<std::string>;

/// The kinds of failure of a node that has received all its resume values: an exception, a timeout
/// of the node, or the end of its run.
enum class failure { thrown, timed_out, cut_off };

struct flaky {
  questions asked;
  int failures;
  failure how;
};

/// Interrupts for its questions, fails the given number of times, then logs the answers.
ss::task<json::object> ask_all(std::shared_ptr<flaky> f, ss::runtime rt) {
  auto given = json::array{};
  for (const auto& text : f->asked) {
    auto question = rt.interrupt(json::string{text});
    given.push_back(co_await question);
  }
  if (f->failures-- > 0) {
    if (f->how == failure::thrown)
      throw std::runtime_error{"no network"};
    if (f->how == failure::cut_off)
      rt.emit("waits");
    co_await ss::sleep_for{std::chrono::hours{1}};
  }
  auto out = json::object{};
  out["log"] = given;
  co_return out;
}

ss::compiled_json_graph asking(questions asked, int failures, ss::compile_options options = kept(),
                               failure how = failure::thrown, ss::json_node_options node = {}) {
  auto g = logging({});
  const auto f = std::make_shared<flaky>(flaky{std::move(asked), failures, how});
  if (how == failure::timed_out)
    node.timeout = ss::timeout_policy{.run = std::chrono::milliseconds{20}};
  g.add(
      "q", [f](const json::value&, ss::runtime rt) { return ask_all(f, std::move(rt)); }, node);
  g.edge("__start__", "q");
  return g.compile(std::move(options));
}

/// A graph with another graph as its only node.
ss::compiled_json_graph around(ss::compiled_json_graph inner) {
  auto g = logging({});
  g.add("sub", std::move(inner)).edge("__start__", "sub");
  return g.compile(kept());
}

std::string texts(const ss::run_result<json::object>& raw) {
  auto out = std::string{};
  for (const auto& q : raw.interrupts)
    out += (out.empty() ? "" : " ") + std::string{q.value.as_string()};
  return out;
}

/// Whether a run fails. Cancels the run if its node waits after it has received all resume values.
template <class Input>
bool fails(ss::engine& e, const ss::compiled_json_graph& g, Input input, ss::run_config config) {
  auto stream = e.stream(g, std::move(input), ss::stream_mode::custom, std::move(config), 64);
  try {
    while (stream.next())
      stream.handle().cancel();
    return false;
  } catch (const ss::graph_error&) {
    return true;
  }
}

const auto resume = [](ss::engine& e, const ss::compiled_json_graph& g,
                       ss::run_config config = on("t")) {
  return run(e, g, ss::resume(), std::move(config));
};

} // namespace

BOOST_DATA_TEST_CASE(resume_value_is_kept_when_its_task_fails,
                     boost::unit_test::data::make({0, 1, 2}) * boost::unit_test::data::make({0, 1}),
                     failing, at_exit) {
  const auto how = static_cast<failure>(failing);
  const auto when = at_exit != 0 ? ss::durability::exit : ss::durability::async;
  auto e = ss::engine{{.workers = 1}};
  const auto graph = asking({"name?"}, 2, kept(), how);
  auto config = on("t");
  config.thread.emplace().durability = when;
  BOOST_TEST(texts(run(e, graph, json::object{}, config).raw) == "name?");
  BOOST_TEST(fails(e, graph, answer("Ann"), config));
  BOOST_TEST(fails(e, graph, ss::resume(), config));
  BOOST_TEST(log_of(resume(e, graph, config)) == "Ann");
}

BOOST_AUTO_TEST_CASE(resume_value_by_id_is_kept_after_failure) {
  auto e = ss::engine{{.workers = 1}};
  const auto graph = asking({"name?"}, 1);
  const auto stopped = run(e, graph, json::object{}, on("t"));
  auto said = ss::resume({{stopped.raw.interrupts.at(0).id, "Ann"}});
  BOOST_TEST(run(e, graph, std::move(said), on("t")).raw.error.has_value());
  BOOST_TEST(log_of(resume(e, graph)) == "Ann");
}

BOOST_AUTO_TEST_CASE(several_resume_values_keep_order_after_failure) {
  auto e = ss::engine{{.workers = 1}};
  const auto graph = asking({"one", "two"}, 1);
  (void)run(e, graph, json::object{}, on("t"));
  BOOST_TEST(texts(run(e, graph, answer("A"), on("t")).raw) == "two");
  BOOST_TEST(run(e, graph, answer("B"), on("t")).raw.error.has_value());
  BOOST_TEST(log_of(resume(e, graph)) == "A B");
}

// An answer belongs to one interrupt, even if the attempt that received it failed before the next
// one.
BOOST_AUTO_TEST_CASE(resume_value_is_not_reused_for_next_interrupt) {
  auto g = logging({});
  const auto failures = std::make_shared<int>(1);
  g.add("q", [failures](const json::value&, ss::runtime rt) -> ss::task<json::object> {
    auto first = rt.interrupt("one");
    const auto a = co_await first;
    if ((*failures)-- > 0)
      throw std::runtime_error{"no network"};
    auto second = rt.interrupt("two");
    const auto b = co_await second;
    auto out = json::object{};
    out["log"] = json::array{a, b};
    co_return out;
  });
  const auto graph = g.edge("__start__", "q").compile(kept());
  auto e = ss::engine{{.workers = 1}};
  (void)run(e, graph, json::object{}, on("t"));
  BOOST_TEST(run(e, graph, answer("A"), on("t")).raw.error.has_value());
  BOOST_TEST(texts(resume(e, graph).raw) == "two");
  BOOST_TEST(log_of(run(e, graph, answer("B"), on("t"))) == "A B");
}

// The stored answer wins; a new one belongs to the next interrupt.
BOOST_AUTO_TEST_CASE(stored_resume_value_takes_precedence_over_later_one) {
  auto e = ss::engine{{.workers = 1}};
  const auto graph = asking({"name?"}, 1);
  (void)run(e, graph, json::object{}, on("t"));
  (void)run(e, graph, answer("Ann"), on("t"));
  BOOST_TEST(log_of(run(e, graph, answer("Bob"), on("t"))) == "Ann");
}

BOOST_AUTO_TEST_CASE(retry_after_timeout_reuses_the_resume_value) {
  auto e = ss::engine{{.workers = 1}};
  auto node = ss::json_node_options{};
  auto& policy = node.retry.emplace_back();
  policy.max_attempts = 2;
  policy.initial_interval = {};
  policy.jitter = false;
  const auto graph = asking({"name?"}, 1, kept(), failure::timed_out, node);
  (void)run(e, graph, json::object{}, on("t"));
  BOOST_TEST(log_of(run(e, graph, answer("Ann"), on("t"))) == "Ann");
}

BOOST_AUTO_TEST_CASE(resume_value_in_subgraph_is_kept_after_failure) {
  auto e = ss::engine{{.workers = 1}};
  const auto graph = around(asking({"name?"}, 1, {}));
  (void)run(e, graph, json::object{}, on("t"));
  BOOST_TEST(run(e, graph, answer("Ann"), on("t")).raw.error.has_value());
  BOOST_TEST(log_of(resume(e, graph)) == "Ann");
}

BOOST_AUTO_TEST_CASE(sqlite_checkpointer_keeps_resume_values_of_failed_task) {
  const auto folder = temporary_folder{};
  const auto open = [&](int failures) {
    auto options = ss::compile_options{};
    options.checkpointer = ss::sqlite_checkpointer(folder.file());
    return asking({"name?"}, failures, options);
  };
  auto e = ss::engine{{.workers = 1}};
  {
    const auto graph = open(1);
    (void)run(e, graph, json::object{}, on("t"));
    BOOST_TEST(run(e, graph, answer("Ann"), on("t")).raw.error.has_value());
  }
  const auto graph = open(0);
  const auto failed = e.get_state(graph, on("t"));
  BOOST_TEST_REQUIRE(failed.tasks.size() == 1U);
  BOOST_TEST(!failed.tasks[0].error.empty());
  BOOST_TEST(failed.tasks[0].interrupts.size() == 1U);
  BOOST_TEST(log_of(resume(e, graph)) == "Ann");
}

// An interrupt of a subgraph without persistence has one id: in the result of the first run, in the
// state of the thread, and in the resumed run.
BOOST_AUTO_TEST_CASE(interrupt_id_resumes_subgraph_without_persistence) {
  auto e = ss::engine{{.workers = 1}};
  auto unkept = ss::compile_options{};
  unkept.persistence = ss::persistence::none;
  const auto graph = around(asking({"name?"}, 0, unkept));
  const auto stopped = run(e, graph, json::object{}, on("t"));
  const auto state = e.get_state(graph, on("t"), true);
  BOOST_TEST_REQUIRE(state.tasks.size() == 1U);
  BOOST_TEST(state.tasks[0].nested == nullptr);
  BOOST_TEST_REQUIRE(state.interrupts().size() == 1U);
  BOOST_TEST(state.interrupts()[0].id == stopped.raw.interrupts.at(0).id);
  auto said = ss::resume({{state.interrupts()[0].id, "Ann"}});
  BOOST_TEST(log_of(run(e, graph, std::move(said), on("t"))) == "Ann");
}

// A body asks by a graph that it runs and then itself. The graph has ended when the body asks, so
// the next resume value is not for the question of the graph, and a later attempt does not ask it.
BOOST_DATA_TEST_CASE(question_of_ended_graph_is_not_asked_again,
                     boost::unit_test::data::make({0, 1, 2}) *
                         boost::unit_test::data::make({1, 2}) *
                         boost::unit_test::data::make({0, 1}),
                     when, depth, failures) {
  auto e = ss::engine{{.workers = 1}};
  auto inner = asking({"name?"}, 0, {});
  for (auto i = 1; i < depth; ++i)
    inner = around(std::move(inner));
  auto g = logging({});
  g.add("q",
        [inner, left = std::make_shared<int>(failures)](const json::value&,
                                                        ss::runtime rt) -> ss::task<json::object> {
          auto named = rt.invoke(inner, json::object{});
          auto out = co_await named;
          if ((*left)-- > 0)
            throw std::runtime_error{"no network"};
          out["log"].as_array().push_back(co_await rt.interrupt("city?"));
          co_return out;
        });
  const auto graph = g.edge("__start__", "q").compile(kept());
  auto config = on("t");
  config.thread.emplace().durability = static_cast<ss::durability>(when);
  BOOST_TEST(texts(run(e, graph, json::object{}, config).raw) == "name?");
  if (failures > 0)
    BOOST_TEST(run(e, graph, answer("Ann"), config).raw.error.has_value());
  const auto named = failures > 0 ? resume(e, graph, config) : run(e, graph, answer("Ann"), config);
  BOOST_TEST(texts(named.raw) == "city?");
  BOOST_TEST(log_of(run(e, graph, answer("Rome"), config)) == "Ann Rome");
}

BOOST_AUTO_TEST_SUITE_END()

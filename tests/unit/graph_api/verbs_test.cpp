// SPDX-License-Identifier: Apache-2.0
// The functions of the engine (invoke, stream, batch, get_state, …) on typed, channel and JSON
// graphs, and the inputs that they accept.
#include "graph_api/json_runs.hpp"

#include <superstep/messages/messages.hpp>
#include <superstep/runtime/channel_graph.hpp>

#include <boost/describe/class.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

BOOST_AUTO_TEST_SUITE(engine_functions)

using namespace graph_api;

// Not in the unnamed namespace, because g++ 12 warns about coroutine frames over types without
// linkage.
struct sum {
  int n = 0;
  int total = 0;
  using reducers = ss::reducers<ss::by<&sum::total, std::plus<>>>;
};
BOOST_DESCRIBE_STRUCT(sum, (), (n, total))

struct talk {
  ss::message_list messages{};
  using reducers = ss::reducers<ss::by<&talk::messages, ss::add_messages>>;
};
BOOST_DESCRIBE_STRUCT(talk, (), (messages))

namespace {

/// Adds n to the total; fails if n is negative.
ss::compiled_graph<sum> adding(ss::compile_options options = {}) {
  auto g = ss::graph<sum>{};
  g.add("add", [](const sum& s) {
    if (s.n < 0)
      throw std::runtime_error{"negative"};
    return ss::set<&sum::total>(s.n);
  });
  g.edge(ss::start, "add");
  return g.compile(std::move(options));
}

ss::compiled_graph<talk> echoing() {
  auto g = ss::graph<talk>{};
  g.add("echo", [](const talk& t) {
    return ss::set<&talk::messages>({ss::ai_message(t.messages.back().content + "!")});
  });
  g.edge(ss::start, "echo");
  return g.compile();
}

} // namespace

BOOST_AUTO_TEST_CASE(batch_returns_results_in_input_order) {
  auto e = ss::engine{{.workers = 2}};
  auto inputs = std::vector<sum>{};
  for (auto i = 0; i < 50; ++i)
    inputs.push_back({.n = i == 7 ? -1 : i, .total = 0});
  const auto all = e.batch(adding(), inputs, {}, 3);
  BOOST_TEST_REQUIRE(all.size() == 50U);
  for (auto i = 0; i < 50; ++i) {
    const auto& one = all[static_cast<std::size_t>(i)];
    BOOST_TEST(one.error.has_value() == (i == 7));
    BOOST_TEST((one.status == (i == 7 ? ss::run_status::failed : ss::run_status::finished)));
    if (i != 7)
      BOOST_TEST(one.state.total == i);
  }
}

BOOST_AUTO_TEST_CASE(batch_limits_concurrent_runs) {
  auto e = ss::engine{{.workers = 2}};
  auto running = std::atomic<int>{0};
  auto most = std::atomic<int>{0};
  auto g = ss::graph<sum>{};
  g.add("add", [&](const sum&) -> ss::task<void> {
    const auto now = ++running;
    for (auto seen = most.load(); seen < now && !most.compare_exchange_weak(seen, now);) {
    }
    auto nap = ss::sleep_for{std::chrono::milliseconds{1}}; // lets the other runs of the lane start
    co_await nap;
    --running;
  });
  g.edge(ss::start, "add");
  auto ended = std::atomic<int>{0};
  e.batch(
      g.compile(), std::vector<sum>(40), {},
      [&](std::size_t, const ss::run_result<sum>&) { ++ended; }, 2);
  BOOST_TEST(ended == 40);
  BOOST_TEST(most <= 2);
  BOOST_TEST(e.batch(adding(), std::vector<sum>{}).empty());
}

BOOST_AUTO_TEST_CASE(batch_reports_invalid_inputs_and_continues) {
  auto e = ss::engine{{.workers = 1}};
  auto g = logging({"a"});
  g.edge("__start__", "a");
  const auto all = e.batch(
      g.compile(), std::vector<json::object>{{{"nothing", 1}}, {{"log", json::array{"x"}}}});
  BOOST_TEST_REQUIRE(all.size() == 2U);
  BOOST_TEST((all[0].status == ss::run_status::failed));
  BOOST_TEST(log_of({{}, all[1].state}) == "x a");
}

BOOST_AUTO_TEST_CASE(batch_waits_for_its_runs_before_it_throws) {
  auto e = ss::engine{{.workers = 2}};
  auto g = logging({"a"});
  const auto graph = g.edge("__start__", "a").compile();
  auto inputs = std::vector<json::object>(20, json::object{{"log", json::array{"x"}}});
  inputs.push_back({{"nothing", 1}}); // rejected before it runs, on the caller's thread
  auto ended = std::atomic<int>{0};
  const auto count = [&](std::size_t, const ss::run_result<json::object>& r) {
    if (r.error)
      throw std::runtime_error{"refused"};
    ++ended;
  };
  BOOST_CHECK_THROW(e.batch(graph, inputs, {}, count), std::runtime_error);
  BOOST_TEST(ended == 20);
}

BOOST_AUTO_TEST_CASE(node_bodies_can_invoke_graphs_of_every_kind) {
  auto e = ss::engine{{.workers = 1}};
  const auto typed = adding();
  auto j = logging({"a"});
  const auto dynamic = j.edge("__start__", "a").compile();
  auto c = ss::channel_graph{};
  const auto n = c.last_value<int>("n", 1);
  c.edge(ss::start,
         c.add("twice", ss::reads{n}, [=](int v) { return ss::step_result{{n <<= 2 * v}}; }));
  const auto handles = c.compile();
  auto g = ss::graph<sum>{};
  g.add("all", [=](sum, ss::runtime rt) -> ss::task<ss::update<sum>> {
    const auto input = sum{.n = 5, .total = 1};
    const auto first = co_await rt.invoke(typed, input);
    const auto second = co_await rt.invoke(dynamic, json::object{});
    auto writes = ss::channel_writes{n <<= 21};
    const auto third = co_await rt.invoke(handles, std::move(writes));
    co_return ss::set<&sum::total>(
        first.total + static_cast<int>(second.at("log").as_array().size()) + ss::get(n, *third));
  });
  g.edge(ss::start, "all");
  BOOST_TEST(e.invoke(g.compile(), sum{}).state.total == 6 + 1 + 42);
}

BOOST_AUTO_TEST_CASE(text_and_messages_are_accepted_as_inputs) {
  auto e = ss::engine{{.workers = 1}};
  const auto graph = echoing();
  BOOST_TEST(e.invoke(graph, "hi").state.messages.back().content == "hi!");
  BOOST_TEST(e.invoke(graph, std::string{"hi"}).state.messages.size() == 2U);
  const auto two = std::vector<ss::message>{ss::human_message("a"), ss::human_message("b")};
  BOOST_TEST(e.invoke(graph, two).state.messages.size() == 3U);
  BOOST_TEST(e.invoke(graph, ss::human_message("c")).state.messages.back().content == "c!");
  static_assert(!ss::run_input_of<const char*, sum>);
}

BOOST_AUTO_TEST_CASE(text_input_without_messages_channel_is_rejected) {
  auto e = ss::engine{{.workers = 1}};
  auto g = ss::json_graph{};
  g.channel("messages", "append").add("a", [](const json::value&) {}).edge("__start__", "a");
  const auto ended = e.invoke(g.compile(), "hi");
  BOOST_TEST(ended.state.at("messages").at(0).at("content") == "hi");
  auto other = logging({"a"});
  other.edge("__start__", "a");
  BOOST_CHECK_THROW(e.invoke(other.compile(), "hi"), ss::graph_error);
}

BOOST_AUTO_TEST_CASE(command_input_writes_state_and_selects_nodes) {
  auto e = ss::engine{{.workers = 1}};
  const auto graph = adding(kept());
  static_cast<void>(e.invoke(graph, sum{.n = 1, .total = 0}, on("t")));
  const auto said = ss::command<sum>{.update = ss::set<&sum::n>(5), .go_to = {"add"}};
  BOOST_TEST(e.invoke(graph, said, on("t")).state.total >= 6);
  const auto lost = ss::command<sum>{.go_to = {"nowhere"}};
  BOOST_CHECK_THROW(e.invoke(graph, lost, on("t")), ss::graph_error);
  BOOST_TEST(e.try_invoke(graph, lost, on("t")).error.has_value());
}

BOOST_AUTO_TEST_CASE(node_that_returns_resume_command_fails_the_run) {
  auto e = ss::engine{{.workers = 1}};
  auto g = ss::graph<sum>{};
  g.add("a", [](const sum&) { return ss::command<sum>{.resume = ss::resume(1)}; });
  g.edge(ss::start, "a");
  BOOST_TEST(e.try_invoke(g.compile(), sum{}).error.has_value());
}

BOOST_AUTO_TEST_CASE(update_state_changes_typed_and_json_graph_states) {
  auto e = ss::engine{{.workers = 1}};
  const auto graph = adding(kept());
  BOOST_TEST(!e.get_state(graph, on("t")).values.has_value());
  static_cast<void>(e.invoke(graph, sum{.n = 1, .total = 0}, on("t")));
  auto change = ss::state_update<sum>{};
  change.values = ss::update{ss::set<&sum::total>(10)};
  change.as_node = "__start__";
  const auto id = e.update_state(graph, on("t"), change);
  BOOST_TEST(e.get_state(graph, on("t")).checkpoint->id == id);
  BOOST_TEST(e.get_state_history(graph, on("t")).size() >= 3U);

  auto j = logging({"a", "b"});
  const auto dynamic = j.sequence({"__start__", "a", "b"}).compile(kept());
  static_cast<void>(e.invoke(dynamic, json::object{}, on("t")));
  e.update_state(dynamic, on("t"), {{"log", json::array{"x"}}}, "a");
  const auto now = e.get_state(dynamic, on("t"));
  BOOST_TEST(log_of({{}, *now.values}) == "a b x");
  BOOST_TEST(now.next == std::vector<std::string>{"b"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(stream_range_yields_typed_events_of_each_mode) {
  auto e = ss::engine{{.workers = 1}};
  auto seen = std::string{};
  const auto modes = ss::stream_mode::values | ss::stream_mode::updates;
  for (const auto& event : e.stream(adding(), sum{.n = 2, .total = 0}, modes)) {
    if (const auto* after = std::get_if<ss::values_event<sum>>(&event))
      seen += "total " + std::to_string(after->state->total) + ". ";
    else if (const auto* wrote = std::get_if<ss::update_event>(&event))
      seen += wrote->node + " wrote " + std::to_string(*wrote->wrote<&sum::total>()) + ". ";
  }
  BOOST_TEST(seen == "total 0. add wrote 2. total 2. ");

  auto g = logging({"a"});
  g.edge("__start__", "a");
  auto updates = std::vector<json::value>{};
  for (const auto& event : e.stream(g.compile(), json::object{}, ss::stream_mode::updates))
    updates.push_back(std::get<ss::update_event>(event).update);
  BOOST_TEST_REQUIRE(updates.size() == 1U);
  BOOST_TEST(json::serialize(updates[0]) == R"({"log":["a"]})");
}

BOOST_AUTO_TEST_CASE(task_events_contain_the_writes_of_ended_tasks) {
  auto e = ss::engine{{.workers = 1}};
  auto totals = std::string{};
  for (const auto& event : e.stream(adding(), sum{.n = 2, .total = 0}, ss::stream_mode::tasks)) {
    const auto& task = std::get<ss::task_event>(event);
    const auto* total = task.wrote<&sum::total>();
    BOOST_TEST((total != nullptr) == task.has_ended);
    if (total != nullptr)
      totals += task.node + ' ' + std::to_string(*total);
  }
  BOOST_TEST(totals == "add 2");

  auto g = logging({"a"});
  g.edge("__start__", "a");
  auto updates = std::vector<std::string>{};
  for (const auto& event : e.stream(g.compile(), json::object{}, ss::stream_mode::tasks))
    updates.push_back(json::serialize(std::get<ss::task_event>(event).update));
  const auto expected = std::vector<std::string>{"null", R"({"log":["a"]})"};
  BOOST_TEST(updates == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(stream_of_failed_run_throws_graph_error) {
  auto e = ss::engine{{.workers = 1}};
  auto failing = e.stream(adding(), sum{.n = -1, .total = 0}, ss::stream_mode::values);
  const auto read_all = [&] {
    while (failing.next()) {
    }
  };
  BOOST_CHECK_THROW(read_all(), ss::graph_error);
  BOOST_TEST((failing.result().status == ss::run_status::failed));
}

BOOST_AUTO_TEST_CASE(graph_with_same_state_type_runs_as_node) {
  auto e = ss::engine{{.workers = 1}};
  auto g = ss::graph<talk>{};
  g.add("echo", echoing()).edge(ss::start, "echo");
  BOOST_TEST(e.invoke(g.compile(), "hi").state.messages.size() == 2U); // merged by id
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: Apache-2.0
// Content and order of stream events.
#include "graph_api/json_runs.hpp"

#include <superstep/checkpoint/write_cache.hpp>

#include <boost/test/unit_test.hpp>

#include <map>
#include <string_view>

using namespace graph_api;
using ss::stream_mode;

BOOST_AUTO_TEST_SUITE(events)

namespace {

ss::compiled_json_graph chain(std::vector<std::string> nodes, ss::compile_options options = {}) {
  auto g = logging(nodes);
  nodes.insert(nodes.begin(), "__start__");
  g.sequence(nodes);
  return g.compile(std::move(options));
}

/// An input that writes a channel: without it, nothing changes after START.
json::object input_of(const ss::compiled_json_graph& /*graph*/) {
  return {{"log", json::array{}}};
}

/// Returns the events as words: mode, and node or phase.
std::string words(const std::vector<ss::detail::run_event>& all) {
  auto text = std::string{};
  for (const auto& e : all) {
    text += text.empty() ? "" : " ";
    if (e.path)
      text += e.path->back() + '/';
    if (e.mode == stream_mode::values)
      text += "values";
    else if (e.mode == stream_mode::checkpoints)
      text += "checkpoint";
    else if (e.mode == stream_mode::custom)
      text += "custom:" + e.node;
    else if (e.mode == stream_mode::updates)
      text += e.interrupts ? "stop" : "update:" + e.node;
    else if (e.mode == stream_mode::tasks)
      text += (e.at == ss::detail::run_event::phase::started ? "start:" : "end:") + e.node;
  }
  return text;
}

} // namespace

BOOST_AUTO_TEST_CASE(stream_returns_only_updates_by_default) {
  auto e = ss::engine{{.workers = 1}};
  const auto graph = chain({"a", "b"}, kept());
  const auto updates_in = [](auto range) {
    auto out = std::string{};
    for (const auto& event : range) {
      const auto* update = std::get_if<ss::update_event>(&event);
      BOOST_TEST_REQUIRE(update != nullptr);
      out += update->node;
    }
    return out;
  };
  BOOST_TEST(updates_in(e.stream(graph, input_of(graph), on("t"))) == "ab");
  BOOST_TEST(updates_in(e.stream(graph, input_of(graph), {.thread_id = "u"})) == "ab");
  BOOST_TEST(!e.get_state_history(graph, on("u")).empty());
}

BOOST_AUTO_TEST_CASE(several_modes_share_one_ordered_stream) {
  auto e = ss::engine{{.workers = 1}};
  const auto graph = chain({"a", "b"});
  const auto modes = stream_mode::values | stream_mode::updates | stream_mode::tasks;
  BOOST_TEST(words(graph_api::events(e, graph, input_of(graph), modes)) ==
             "values start:a update:a end:a values start:b update:b end:b values");
}

BOOST_AUTO_TEST_CASE(checkpoint_event_follows_values_event_of_same_step) {
  auto e = ss::engine{{.workers = 1}};
  const auto graph = chain({"a"}, kept());
  const auto modes = stream_mode::values | stream_mode::checkpoints | stream_mode::tasks;
  const auto all = graph_api::events(e, graph, input_of(graph), modes, on("t"));
  BOOST_TEST(words(all) == "checkpoint values checkpoint start:a end:a values checkpoint");
  const auto& before_a = all.at(2);
  BOOST_TEST(before_a.checkpoint->step == 0);
  BOOST_TEST((before_a.checkpoint->source == ss::checkpoint_source::loop));
  BOOST_TEST(before_a.next == std::vector<std::string>{"a"}, boost::test_tools::per_element());
  BOOST_TEST(before_a.checkpoint->parent == all.at(0).checkpoint->id);
  BOOST_TEST(log_of({{}, ss::detail::adapter_of(graph).state(*all.back().checkpoint->state)}) ==
             "a");
}

BOOST_AUTO_TEST_CASE(first_checkpoint_event_shows_writes_of_command) {
  auto e = ss::engine{{.workers = 1}};
  const auto graph = chain({"a"}, kept());
  (void)run(e, graph, input_of(graph), on("t"));
  auto command = ss::json_command{};
  command.update = json::object{{"log", json::array{"c"}}};
  command.go_to = {"a"};
  const auto all = graph_api::events(e, graph, command, stream_mode::checkpoints, on("t"));
  BOOST_TEST_REQUIRE(all.size() == 2U);
  BOOST_TEST(log_of({{}, ss::detail::adapter_of(graph).state(*all[0].state)}) == "a c");
  BOOST_TEST(log_of({{}, ss::detail::adapter_of(graph).state(*all[1].state)}) == "a c a");
}

BOOST_AUTO_TEST_CASE(task_event_shows_every_write) {
  auto e = ss::engine{{.workers = 1}};
  auto g = logging({});
  g.add("a", [](const json::value&) {
    const auto one = json::value(json::object{{"log", json::array{"1"}}});
    return ss::json_command{one, {}, {one}};
  });
  g.edge("__start__", "a");
  const auto graph = g.compile();
  const auto all = graph_api::events(e, graph, input_of(graph), stream_mode::tasks);
  BOOST_TEST_REQUIRE(all.size() == 2U);
  BOOST_TEST(json::serialize(ss::detail::adapter_of(graph).update(all[1].writes)) ==
             R"([{"log":["1"]},{"log":["1"]}])");
}

// The event of a task whose router fails contains what the task has written, as in LangGraph.
BOOST_AUTO_TEST_CASE(task_event_of_failed_router_contains_writes) {
  auto e = ss::engine{{.workers = 1}};
  auto g = logging({"a"});
  g.edge("__start__", "a")
      .branch("a", [](const json::value&) { return std::string{"nowhere"}; }, {{"here", "a"}});
  const auto graph = g.compile();
  auto stream =
      ss::detail::engine_access::stream(e, graph, input_of(graph), stream_mode::tasks, {});
  auto all = std::vector<ss::detail::run_event>{};
  const auto read = [&] {
    while (auto event = stream.next())
      all.push_back(std::move(*event));
  };
  BOOST_CHECK_THROW(read(), ss::graph_error);
  BOOST_TEST_REQUIRE(all.size() == 2U);
  BOOST_TEST(!all[1].error.empty());
  BOOST_TEST(json::serialize(ss::detail::adapter_of(graph).update(all[1].writes)) ==
             R"({"log":["a"]})");
}

BOOST_AUTO_TEST_CASE(subgraph_events_are_streamed_on_request) {
  auto e = ss::engine{{.workers = 1}};
  auto inner = logging({});
  inner.add("says", [](const json::value&, const ss::runtime& rt) {
    rt.emit("hello");
    return json::object{{"log", json::array{"x"}}};
  });
  inner.edge("__start__", "says");
  auto g = logging({});
  g.add("sub", inner.compile()).edge("__start__", "sub");
  const auto graph = g.compile();
  const auto modes = stream_mode::custom | stream_mode::updates;
  BOOST_TEST(words(graph_api::events(e, graph, input_of(graph), modes)) == "update:sub");
  BOOST_TEST(words(graph_api::events(e, graph, input_of(graph), modes | stream_mode::subgraphs)) ==
             "sub/custom:says sub/update:says update:sub");
}

BOOST_AUTO_TEST_CASE(interrupt_and_breakpoint_appear_as_update_events) {
  auto e = ss::engine{{.workers = 1}};
  auto g = logging({"a"});
  g.add("ask", asks("?")).sequence({"__start__", "a", "ask"});
  auto options = kept();
  options.interrupt_after = {"a"};
  const auto graph = g.compile(options);
  const auto first = graph_api::events(e, graph, input_of(graph), stream_mode::updates, on("t"));
  BOOST_TEST(words(first) == "update:a stop");
  BOOST_TEST(first.back().interrupts->empty());
  const auto then = graph_api::events(e, graph, ss::resume(), stream_mode::updates, on("t"));
  BOOST_TEST(words(then) == "stop");
  BOOST_TEST(then.back().interrupts->at(0).value.as_string() == "?");
}

BOOST_AUTO_TEST_CASE(update_event_marks_cached_output) {
  auto e = ss::engine{{.workers = 1}};
  auto g = logging({});
  auto options = ss::json_node_options{};
  options.cache.emplace();
  g.add("a", logs("a"), options).edge("__start__", "a");
  auto with_cache = ss::compile_options{};
  with_cache.cache = std::make_shared<ss::memory_cache>();
  const auto graph = g.compile(with_cache);
  for (const auto is_known : {false, true}) {
    const auto all = graph_api::events(e, graph, input_of(graph), stream_mode::updates);
    BOOST_TEST_REQUIRE(all.size() == 1U);
    BOOST_TEST(all[0].is_cached == is_known);
  }
}

BOOST_AUTO_TEST_CASE(events_of_json_subgraph_contain_its_output) {
  auto inner = ss::json_graph{};
  inner.channel("n", "add").channel("hidden");
  inner.output({"n"});
  inner.add("one", [](const json::value&) { return json::object{{"n", 1}, {"hidden", true}}; });
  inner.edge("__start__", "one");
  auto g = ss::json_graph{};
  g.channel("n", "add");
  g.add("child", inner.compile());
  g.edge("__start__", "child");
  auto e = ss::engine{{.workers = 1}};
  auto updates = json::array{};
  auto values = json::array{};
  for (const auto& event :
       e.stream(g.compile(), json::object{{"n", 5}},
                stream_mode::values | stream_mode::updates | stream_mode::subgraphs)) {
    if (const auto* update = std::get_if<ss::update_event>(&event); update && update->path)
      updates.push_back(update->update);
    const auto* state = std::get_if<ss::values_event<json::object>>(&event);
    if (state && state->path) {
      BOOST_TEST_REQUIRE(state->state != nullptr);
      values.emplace_back(*state->state);
    }
  }
  BOOST_TEST(json::value(updates) == json::parse(R"([{"n":1}])"));
  BOOST_TEST(json::value(values) == json::parse(R"([{"n":5},{"n":6}])"));
}

BOOST_AUTO_TEST_CASE(values_events_of_outermost_json_graph_show_all_channels) {
  auto g = ss::json_graph{};
  g.channel("a").channel("b");
  g.output({"a"});
  g.add("x", [](const json::value&) { return json::object{{"b", 7}}; });
  g.edge("__start__", "x");
  auto e = ss::engine{{.workers = 1}};
  const auto graph = g.compile();
  auto values = json::array{};
  for (const auto& event : e.stream(graph, json::object{{"a", 1}}, stream_mode::values))
    values.emplace_back(*std::get<ss::values_event<json::object>>(event).state);
  BOOST_TEST(json::value(values) == json::parse(R"([{"a":1},{"a":1,"b":7}])"));
  BOOST_TEST(json::value(e.invoke(graph, json::object{{"a", 1}}).state) ==
             json::parse(R"({"a":1})"));
}

// Two Sends call the same subgraph, each of them twice.
BOOST_AUTO_TEST_CASE(events_name_the_send_and_the_call_of_their_subgraph) {
  auto inner = ss::json_graph{};
  inner.channel("n");
  inner.add("say", [](const json::value& in, const ss::runtime& rt) { rt.emit(in.at("n")); });
  inner.edge("__start__", "say");
  const auto child = inner.compile();
  auto g = ss::json_graph{};
  g.channel("n");
  g.add("work", [child](const json::value& in, ss::runtime rt) -> ss::task<json::object> {
    rt.emit(in.at("n"));
    for (auto i = 0; i < 2; ++i) {
      auto running = rt.invoke(child, in.as_object());
      static_cast<void>(co_await running);
    }
    co_return json::object{};
  });
  g.branch("__start__", [](const json::value&) {
    return std::vector<ss::json_target>{{"work", json::object{{"n", 0}}},
                                        {"work", json::object{{"n", 1}}}};
  });
  const auto graph = g.compile({.checkpointer = ss::memory_checkpointer()});
  auto e = ss::engine{{.workers = 1}};
  auto calls = std::map<std::string, std::vector<std::int64_t>>{};
  for (const auto& event : e.stream(graph, json::object{{"n", 5}},
                                    stream_mode::custom | stream_mode::subgraphs, on("t"))) {
    const auto& sent = std::get<ss::custom_event>(event);
    if (sent.ns)
      calls[*sent.ns].push_back(sent.data.as_int64());
    else
      BOOST_TEST(sent.data.as_int64() == sent.task_index);
  }
  BOOST_TEST(
      (calls == std::map<std::string, std::vector<std::int64_t>>{{"work:work#0@00000002", {0}},
                                                                 {"work:work#0@00000002.1", {0}},
                                                                 {"work:work#1@00000002", {1}},
                                                                 {"work:work#1@00000002.1", {1}}}));
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: Apache-2.0
// Graphs over JSON objects: reducers, reads, Sends, branches, faults and updates.
#include "base/utf8.hpp"
#include "runtime/pure_run.hpp"

#include <superstep/runtime/json_graph.hpp>

#include <boost/test/unit_test.hpp>

using namespace superstep;
using superstep::test::pure_run;

BOOST_AUTO_TEST_SUITE(graph_of_json)

namespace {

/// Runs the graph and returns its final state as text.
std::string end_of(const compiled_json_graph& g, const json::object& input) {
  auto run = pure_run{detail::program_of(g)};
  BOOST_CHECK(run.finish(detail::adapter_of(g).input(input)) == next_step::done);
  return to_text(detail::adapter_of(g).state(*run.state.state()));
}
/// Runs a graph whose single node writes this update to a channel `c` with the given reducer.
std::string after(std::string_view rule, const json::value& first, const json::value& second) {
  auto g = json_graph{};
  g.channel("c", rule);
  g.add("a", [second](const json::value&) { return json::object{{"c", second}}; });
  g.edge("__start__", "a");
  return end_of(g.compile(), {{"c", first}});
}
task<json::value> later(json::value v) {
  co_return v;
}

bool tells(const std::exception& e, std::string_view text) {
  return std::string_view{e.what()}.find(text) != std::string_view::npos;
}

} // namespace

BOOST_AUTO_TEST_CASE(channels_combine_values_by_their_reducer) {
  BOOST_TEST(after("last", 1, 2) == R"({"c":2})");
  BOOST_TEST(after("add", 1, 2) == R"({"c":3})");
  BOOST_TEST(after("add", 1, 0.5) == R"({"c":1.5})");
  BOOST_TEST(after("max", 7, 2) == R"({"c":7})");
  BOOST_TEST(after("concat", "a", "b") == R"({"c":"ab"})");
  BOOST_TEST(after("append", {1, 2}, json::array{3}) == R"({"c":[1,2,3]})");
  BOOST_TEST(after("merge", json::object{{"x", 1}, {"y", 1}}, json::object{{"y", 2}}) ==
             R"({"c":{"x":1,"y":2}})");
  BOOST_TEST(after("topic", 1, json::array{2, 3}) == R"({"c":[2,3]})");
  BOOST_TEST(after("accumulating_topic", 1, json::array{2, 3}) == R"({"c":[1,2,3]})");
  BOOST_TEST(after("ephemeral", 1, 2) == R"({"c":2})");
  BOOST_TEST(after("append", {1}, json::object{{"__overwrite__", {9}}}) == R"({"c":[9]})");
  BOOST_TEST(after("append", {1}, json::object{{"type", "__overwrite__"}, {"value", {8}}}) ==
             R"({"c":[8]})");
  BOOST_TEST(after("last", 1, json::object{{"__overwrite__", 9}}) ==
             R"({"c":{"__overwrite__":9}})");
}

BOOST_AUTO_TEST_CASE(integer_reducers_accept_every_64_bit_integer) {
  constexpr auto largest = std::numeric_limits<std::int64_t>::max();
  constexpr auto larger = std::numeric_limits<std::uint64_t>::max();
  BOOST_TEST(after("add", largest, 1) == R"({"c":9223372036854775808})");
  BOOST_TEST(after("add", larger, -1) == R"({"c":18446744073709551614})");
  BOOST_TEST(after("max", -1, larger) == R"({"c":18446744073709551615})");
  BOOST_TEST(after("max", larger, largest) == R"({"c":18446744073709551615})");
}

BOOST_AUTO_TEST_CASE(value_that_reducer_cannot_combine_is_an_error) {
  const auto refused = [](std::string_view rule, const json::value& v, std::string_view text) {
    BOOST_CHECK_EXCEPTION(after(rule, v, v), std::system_error,
                          [&](const auto& e) { return tells(e, text); });
  };
  refused("add", "one", "the reducer of channel 'c' failed: add expects numbers, got \"one\"");
  refused("append", 1, "append expects lists, got 1");
  refused("merge", 1, "merge expects objects, got 1");
  refused("concat", 1, "concat expects text, got 1");
  refused("add", std::numeric_limits<std::int64_t>::min(), "the sum does not fit 64 bits");
  refused("add", std::numeric_limits<std::uint64_t>::max(), "the sum does not fit 64 bits");
}

BOOST_AUTO_TEST_CASE(long_value_in_error_is_not_cut_inside_a_character) {
  auto text = std::string{"x"}; // with it, the cut at a fixed size is inside a character
  for (auto i = 0; i < 60; ++i)
    text += "ä";
  const auto v = json::value(text);
  BOOST_CHECK_EXCEPTION(after("add", v, v), std::system_error, [](const auto& e) {
    return is_utf8(e.what()) && tells(e, "add expects numbers, got \"xä") && tells(e, "ä...");
  });
}

BOOST_AUTO_TEST_CASE(custom_reducer_is_not_applied_to_first_write) {
  auto g = json_graph{};
  g.channel(
      "c", [](json::value& into, json::value&& more) { into = more.as_int64() - into.as_int64(); });
  g.add("a", [](const json::value& s) { return json::object{{"c", s.at("c").as_int64() * 10}}; });
  g.edge("__start__", "a");
  BOOST_TEST(end_of(g.compile(), {{"c", 5}}) == R"({"c":45})"); // the first write is stored as is
}

BOOST_AUTO_TEST_CASE(bodies_receive_written_channels_config_and_runtime) {
  auto g = json_graph{};
  g.channel("log", "append").channel("n").channel("unset");
  g.add("a", [](const json::value& s, const run_config& c, runtime rt) {
    return json::object{{"log", {s, c.run_id, rt.step()}}};
  });
  auto only_n = json_node_options{};
  only_n.reads = {"n"};
  g.add(
      "b",
      [](const json::value& s) {
        return json_command{json::object{{"log", {s}}}, {"c"}};
      },
      only_n);
  g.add("c", [](const json::value& s) -> task<json::object> {
    auto v = co_await later(s.at("n"));
    auto update = json::object{};
    update["n"] = v.as_int64() + 1;
    co_return update;
  });
  g.add("d", [](const json::value&) {});
  g.edge("__start__", "a").edge("a", "b").edge("c", "d");
  BOOST_TEST(end_of(g.compile(), {{"n", 1}}) ==
             R"({"log":[{"log":[],"n":1},"run",1,{"n":1}],"n":2})");
}

BOOST_AUTO_TEST_CASE(sends_deliver_json_inputs_while_labels_select_targets) {
  auto g = json_graph{};
  g.channel("log", "append");
  g.add("w", [](const json::value& in) { return json::object{{"log", {in}}}; });
  g.add("x", [](const json::value&) {}).add("y", [](const json::value&) {});
  g.add("z", [](const json::value&) { return json::object{{"log", {"z"}}}; });
  g.branch("__start__", [](const json::value&) {
    return std::vector<json_target>{{"w", 1}, {"w", json::object{{"k", 2}}}, "x"};
  });
  g.edge("x", "y").join({"x", "y"}, "z");
  g.branch(
      "z",
      [](const json::value& s) { return s.at("log").as_array().size() < 4 ? "again" : "stop"; },
      {{"again", "z"}, {"stop", "__end__"}});
  const auto graph = g.compile();
  BOOST_TEST(end_of(graph, {}) == R"({"log":[1,{"k":2},"z","z"]})");
  BOOST_TEST(graph.mermaid().find("z -. &nbsp;again&nbsp; .-> z;") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(unknown_channels_and_targets_are_errors_unless_ignored) {
  const auto make = [](bool lenient, std::string channel = "cc") {
    auto g = json_graph{{.ignore_unknown_channels = lenient}};
    g.channel("c");
    g.add("a", [channel](const json::value&) {
      return json_command{json::object{{channel, 1}}, {"nobody"}};
    });
    g.edge("__start__", "a");
    return g.compile({.name = "g", .ignore_unknown_targets = lenient});
  };
  const auto is_told = [](const graph_error& e) {
    return tells(e, "the update names 'cc', which is not a channel of the graph");
  };
  BOOST_CHECK_EXCEPTION(end_of(make(false), {}), graph_error, is_told);
  BOOST_CHECK_EXCEPTION(
      static_cast<void>(detail::adapter_of(make(false)).input(json::object{{"cc", 1}})),
      graph_error, is_told);
  BOOST_CHECK_EXCEPTION(end_of(make(false, "c"), {}), graph_error, [](const graph_error& e) {
    return e.code() == graph_errc::bad_destination || e.code() == graph_errc::unknown_node;
  });
  BOOST_TEST(end_of(make(true), {{"cc", 1}, {"c", 2}}) == R"({"c":2})");
}

BOOST_AUTO_TEST_CASE(update_that_is_not_an_object_is_rejected) {
  auto g = json_graph{};
  g.channel("c");
  g.add("a", [](const json::value&) { return json::value(7); });
  g.edge("__start__", "a");
  BOOST_CHECK_EXCEPTION(end_of(g.compile(), {}), graph_error, [](const auto& e) {
    return tells(e, "Expected an object, got 7\nReturn a JSON object with the channels to write, "
                    "or null for none.");
  });
}

BOOST_AUTO_TEST_CASE(invalid_branch_result_is_an_error) {
  auto g = json_graph{};
  g.add("a", [](const json::value&) {}).edge("__start__", "a");
  g.branch("a", [](const json::value&) { return std::vector<std::string>{"left"}; },
           {{"right", "a"}});
  BOOST_CHECK_EXCEPTION(end_of(g.compile(), {}), graph_error, [](const auto& e) {
    return tells(e, "a branch returned 'left', which its path map does not contain");
  });
  auto h = json_graph{};
  h.branch("__start__", [](const json::value&) { return "__start__"; });
  BOOST_CHECK_EXCEPTION(end_of(h.compile(), {}), graph_error, [](const auto& e) {
    return tells(e, "a branch returned START or an empty name");
  });
}

BOOST_AUTO_TEST_CASE(unknown_names_and_reducers_are_reported_together) {
  auto g = json_graph{};
  g.channel("c", "sum").channel("d");
  auto options = json_node_options{};
  options.reads = {"e"};
  g.add(
       "a", [](const json::value&) {}, options)
      .edge("a", "b");
  try {
    static_cast<void>(g.compile());
    BOOST_ERROR("no exception");
  } catch (const compile_error& e) {
    BOOST_TEST(e.faults().size() == 4u);
    BOOST_TEST(tells(e, "channel 'c' has the unknown rule 'sum'; the rules are last, "));
    BOOST_TEST(tells(e, "node 'a' reads 'e', which is not a channel of the graph"));
    BOOST_TEST(tells(e, "Found edge ending at unknown node `b`"));
    BOOST_TEST(tells(e, "Graph must have an entrypoint"));
  }
}

BOOST_AUTO_TEST_CASE(updates_have_the_json_form_of_langgraph) {
  auto g = json_graph{};
  g.channel("a").channel("log", "append");
  g.add("n", [](const json::value&) {}).edge("__start__", "n");
  const auto graph = g.compile();
  BOOST_TEST(detail::adapter_of(graph).update({}).is_null());
  BOOST_TEST(to_text(detail::adapter_of(graph).update(detail::adapter_of(graph).input(
                 json::object{{"a", 1}, {"log", {2}}}))) == R"({"a":1,"log":[2]})");
  auto twice = detail::adapter_of(graph).input(json::object{{"a", 1}});
  twice.push_back(detail::adapter_of(graph).input(json::object{{"a", 2}}).front());
  BOOST_TEST(to_text(detail::adapter_of(graph).update(twice)) == R"([{"a":1},{"a":2}])");
}

// The compiled graph shares the layout of its channels with the graph that it was built from.
BOOST_AUTO_TEST_CASE(compiled_graph_takes_no_further_channels) {
  auto g = json_graph{};
  g.channel("n", "add").add("a", [](const json::value&) { return json::object{{"late", 1}}; });
  g.edge("__start__", "a");
  const auto graph = g.compile();
  BOOST_CHECK_THROW(g.channel("late"), compile_error);
  BOOST_CHECK_THROW(g.channel("late", json_reducer::add), compile_error);
  auto run = pure_run{detail::program_of(graph)};
  BOOST_CHECK_THROW(static_cast<void>(run.finish({})), graph_error);
}

BOOST_AUTO_TEST_SUITE_END()

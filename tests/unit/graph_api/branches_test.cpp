// SPDX-License-Identifier: Apache-2.0
// The state that the routers of branches see: the channels as the step would leave them after the
// writes of the router's own node, other members that the node returned, and managed values.
#include "graph_api/threads.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

using namespace graph_api;

BOOST_AUTO_TEST_SUITE(branches)

namespace {

struct bag_case {
  std::string_view rule;
  std::string_view input;
  bool is_emptied; ///< whether a step that does not write the channel empties it
};
std::ostream& operator<<(std::ostream& out, const bag_case& c) {
  return out << c.rule;
}

const auto bag_cases =
    std::vector<bag_case>{{"topic", R"("x")", true},    {"any", R"("x")", true},
                          {"ephemeral", R"(1)", true},  {"untracked", R"("x")", false},
                          {"last", R"("x")", false},    {"accumulating_topic", R"("x")", false},
                          {"append", R"(["x"])", false}};

json::value text(std::string_view written) {
  return ss::parse_json(written).value();
}

/// Selects `full` or `empty` by the channel `bag`.
std::string by_bag(const json::value& state) {
  return state.as_object().contains("bag") ? "full" : "empty";
}

/// A graph with START, p, then `full` or `empty`.
ss::compiled_json_graph bag_graph(std::string_view rule, std::function<json::value()> p) {
  auto g = logging({"full", "empty"});
  g.channel("bag", rule);
  g.add("p", [p = std::move(p)](const json::value&) { return p(); });
  g.edge("__start__", "p").branch("p", by_bag);
  return g.compile(kept());
}

json::value log_p() {
  return json::object{{"log", json::array{"p"}}};
}

} // namespace

BOOST_DATA_TEST_CASE(branch_sees_expired_channel_values_as_empty,
                     boost::unit_test::data::make(bag_cases), c) {
  auto e = ss::engine{{.workers = 1}};
  const auto input = json::object{{"bag", text(c.input)}};
  const auto where = std::string{c.is_emptied ? "empty" : "full"};
  const auto writing = bag_graph(c.rule, log_p);
  BOOST_TEST(log_of(run(e, writing, input, on("t"))) == "p " + where);
  const auto silent = bag_graph(c.rule, [] { return json::value{}; });
  BOOST_TEST(log_of(run(e, silent, input, on("t"))) == where);
  const auto filling = bag_graph(c.rule, [&] { return json::value(input); });
  BOOST_TEST(log_of(run(e, filling, json::object{}, on("t"))) == "full");
}

BOOST_DATA_TEST_CASE(update_state_hides_expired_values_from_branch,
                     boost::unit_test::data::make(bag_cases), c) {
  auto e = ss::engine{{.workers = 1}};
  const auto graph = bag_graph(c.rule, log_p);
  auto config = on("t");
  config.thread.emplace().interrupt_before = std::vector<std::string>{"p"};
  (void)run(e, graph, json::object{{"bag", text(c.input)}}, config);
  (void)e.update_state(graph, on("t"), {{"log", json::array{"p"}}}, "p");
  const auto next = e.get_state(graph, on("t")).next;
  // Untracked values are not in the checkpoint, so the state update does not see them.
  const auto is_full = !c.is_emptied && c.rule != "untracked";
  BOOST_TEST(next == std::vector<std::string>{is_full ? "full" : "empty"},
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(branch_sees_only_writes_of_its_node) {
  auto g = logging({"full", "empty"});
  g.channel("bag", "topic");
  g.add("p", [](const json::value&) { return log_p(); });
  g.add("q", [](const json::value&) { return json::object{{"bag", "q"}}; });
  g.edge("__start__", "p").edge("__start__", "q").branch("p", by_bag).branch("q", by_bag);
  const auto graph = g.compile();
  auto e = ss::engine{{.workers = 1}};
  BOOST_TEST(log_of(run(e, graph, json::object{{"bag", "x"}})) == "p empty full");
}

BOOST_AUTO_TEST_CASE(entry_branch_does_not_see_previous_runs_values) {
  auto g = logging({"empty"});
  g.channel("bag", "topic").branch("__start__", [](const json::value& state) {
    return std::string{by_bag(state) == "full" ? "__end__" : "empty"};
  });
  const auto graph = g.compile(kept());
  auto e = ss::engine{{.workers = 1}};
  for (const auto& input : {json::object{}, json::object{{"log", json::array{}}}}) {
    const auto full = run(e, graph, json::object{{"bag", "x"}}, on("t")); // ends with the bag full
    const auto log = log_of(full);
    BOOST_TEST(log_of(run(e, graph, input, on("t"))) == log + (log.empty() ? "empty" : " empty"));
  }
}

namespace {

/// A graph whose node p reads only `total`; the router of p stores what it sees in `seen_state`.
ss::compiled_json_graph reading(std::function<ss::json_command()> p, json::value& seen_state) {
  auto g = ss::json_graph{{.ignore_unknown_channels = true}};
  g.channel("total", "add").channel("seen", "append").channel("bag", "topic");
  auto options = ss::json_node_options{};
  options.reads = {"bag", "total"};
  g.add(
      "p", [p = std::move(p)](const json::value&) { return p(); }, options);
  g.edge("__start__", "p").branch("p", [&seen_state](const json::value& state) {
    seen_state = state;
    return std::string{"__end__"};
  });
  return g.compile(kept());
}

const auto before = json::object{{"total", 100}, {"seen", json::array{"a", "b"}}};

} // namespace

BOOST_AUTO_TEST_CASE(branch_sees_unread_values_that_its_node_returned) {
  auto e = ss::engine{{.workers = 1}};
  auto seen = json::value{};
  const auto returned =
      json::object{{"total", 7}, {"seen", json::array{"x"}}, {"zz", 9}, {"bag", json::array{}}};
  const auto graph = reading([&] { return ss::json_command{returned}; }, seen);
  (void)run(e, graph, before, on("t"));
  // Read channels are merged; other members are as the node returned them.
  BOOST_TEST(ss::to_canonical_text(seen) == R"({"bag":[],"seen":["x"],"total":107,"zz":9})");
  seen = nullptr;
  e.update_state(graph, on("t"), {{"seen", json::array{"y"}}}, "p");
  BOOST_TEST(ss::to_canonical_text(seen) == R"({"seen":["y"],"total":107})");
}

BOOST_AUTO_TEST_CASE(branch_after_command_sees_only_read_channels) {
  auto e = ss::engine{{.workers = 1}};
  auto seen = json::value{};
  const auto returned = json::object{{"total", 7}, {"seen", json::array{"x"}}, {"zz", 9}};
  const auto commands = reading([&] { return ss::json_command{returned, {"p"}}; }, seen);
  auto config = on("t");
  config.recursion_limit = 1;
  (void)run(e, commands, before, config);
  BOOST_TEST(ss::to_canonical_text(seen) == R"({"total":107})");
  const auto lists = reading([&] { return ss::json_command{nullptr, {}, {returned}}; }, seen);
  (void)run(e, lists, before, on("t"));
  BOOST_TEST(ss::to_canonical_text(seen) == R"({"total":107})");
}

BOOST_AUTO_TEST_CASE(branch_does_not_see_values_of_earlier_runs) {
  auto e = ss::engine{{.workers = 1}};
  auto seen = json::value{};
  const auto telling = reading([] { return ss::json_command{json::object{{"zz", 9}}}; }, seen);
  (void)run(e, telling, before, on("t"));
  BOOST_TEST(seen.as_object().contains("zz"));
  const auto silent = reading(
      [] {
        return ss::json_command{json::object{{"total", 1}}, {"p"}};
      },
      seen);
  auto config = on("t");
  config.recursion_limit = 1;
  (void)run(e, silent, before, config);
  BOOST_TEST(!seen.as_object().contains("zz"));
}

BOOST_AUTO_TEST_CASE(branch_sees_managed_values) {
  auto g = logging({"w"});
  g.channel("left", "remaining_steps").channel("seen", "append");
  auto lefts = std::vector<std::int64_t>{};
  const auto route = [&](const json::value& state) {
    lefts.push_back(state.at("left").as_int64());
    return std::string{lefts.back() > 2 ? "w" : "__end__"};
  };
  g.branch("__start__", route).branch("w", route);
  const auto graph = g.compile();
  auto config = ss::run_config{};
  config.recursion_limit = 6;
  auto e = ss::engine{{.workers = 1}};
  BOOST_TEST(log_of(run(e, graph, json::object{}, config)) == "w w w w");
  BOOST_TEST(lefts == (std::vector<std::int64_t>{6, 5, 4, 3, 2}), boost::test_tools::per_element());
}

namespace {

struct counted {
  int n = 0;
};
BOOST_DESCRIBE_STRUCT(counted, (), (n))

} // namespace

BOOST_AUTO_TEST_CASE(text_of_router_is_label_if_branch_has_map) {
  for (const auto with_map : {true, false}) {
    auto g = ss::graph<counted>{};
    g.add("a", [](const counted& s) { return ss::update{ss::set<&counted::n>(s.n + 1)}; });
    g.add("b", [](const counted& s) { return ss::update{ss::set<&counted::n>(s.n + 10)}; });
    g.edge(ss::start, "a").edge("b", ss::end);
    if (with_map)
      g.branch("a", [](const counted& s) { return s.n > 2 ? "done" : "again"; },
               {{"done", "b"}, {"again", "a"}});
    else
      g.branch("a", [](const counted& s) { return s.n > 2 ? "b" : "a"; }, {"a", "b"});
    auto e = ss::engine{{.workers = 1}};
    BOOST_TEST(e.invoke(g.compile(), counted{}).state.n == 13);
  }
}

BOOST_AUTO_TEST_CASE(string_view_of_router_is_label_if_branch_has_map) {
  auto g = ss::graph<counted>{};
  g.add("a", [](const counted& s) { return ss::update{ss::set<&counted::n>(s.n + 1)}; });
  g.edge(ss::start, "a");
  const auto route = [](const counted& s) -> std::string_view {
    return s.n > 2 ? "done" : "again";
  };
  g.branch("a", route, {{"done", ss::end}, {"again", "a"}});
  auto e = ss::engine{{.workers = 1}};
  BOOST_TEST(e.invoke(g.compile(), counted{}).state.n == 3);
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: Apache-2.0
// Errors and warnings of compile(), sequences, and labels of branches.
#include "graph_api/json_runs.hpp"

#include <superstep/runtime/graph.hpp>

#include <boost/describe/enum.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <functional>

using namespace graph_api;

BOOST_AUTO_TEST_SUITE(compile_checks)

namespace {

std::vector<std::string> texts(const std::vector<ss::fault>& faults) {
  auto out = std::vector<std::string>{};
  for (const auto& f : faults)
    out.push_back(f.text);
  return out;
}

std::vector<std::string> faults_of(ss::json_graph g, ss::compile_options options = {}) {
  try {
    static_cast<void>(g.compile(std::move(options)));
  } catch (const ss::compile_error& e) {
    return texts(e.faults());
  }
  return {};
}

const auto never_runs = std::string{"node 'x' never runs: nothing leads to it from START"};
const auto never_ends =
    std::string{"node 'b' never leads to END: a run that reaches it ends at the recursion limit"};

/// A graph in which a runs and ends, and x is never reached.
ss::json_graph with_an_orphan() {
  auto g = logging({"a", "x"});
  g.edge("__start__", "a");
  return g;
}

enum class mood { good, bad, unsure };
BOOST_DESCRIBE_ENUM(mood, good, bad)

struct feeling {
  int n = 0;
  std::string log;
  using reducers = ss::reducers<ss::by<&feeling::log, std::plus<>>>;
};
BOOST_DESCRIBE_STRUCT(feeling, (), (n, log))

constexpr auto sort = ss::node<feeling>{"sort"};
constexpr auto left = ss::node<feeling>{"left"};
constexpr auto right = ss::node<feeling>{"right"};

auto says(const char* what) {
  return [what](const feeling&) { return ss::update{ss::set<&feeling::log>(what)}; };
}

ss::graph<feeling> two_ways() {
  auto g = ss::graph<feeling>{};
  g.add(sort, [](const feeling&) {}).add(left, says("left")).add(right, says("right"));
  g.edge(ss::start, sort);
  return g;
}

std::string log_for(const ss::compiled_graph<feeling>& graph, int n) {
  auto e = ss::engine{{.workers = 1}};
  return e.invoke(graph, feeling{n, {}}).state.log;
}

} // namespace

BOOST_AUTO_TEST_CASE(strict_compile_turns_unreachable_node_warning_into_error) {
  auto g = with_an_orphan();
  BOOST_TEST(texts(g.compile().warnings()) == std::vector{never_runs},
             boost::test_tools::per_element());
  BOOST_TEST(faults_of(with_an_orphan()).empty());
  auto strict = ss::compile_options{};
  strict.strict = true;
  BOOST_TEST(faults_of(with_an_orphan(), strict) == std::vector{never_runs},
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(node_without_path_to_end_is_a_warning) {
  const auto endless = [] {
    auto g = logging({"a", "b", "c"});
    g.edge("__start__", "a").edge("a", "b").edge("b", "c").edge("c", "b");
    return g;
  };
  auto g = endless();
  const auto warnings = texts(g.compile().warnings());
  BOOST_TEST(warnings.size() == 3U); // also for a and c
  BOOST_TEST((std::ranges::find(warnings, never_ends) != warnings.end()));
  auto strict = ss::compile_options{};
  strict.strict = true;
  BOOST_TEST(faults_of(endless(), strict).size() == 3U);
}

BOOST_AUTO_TEST_CASE(router_without_path_map_prevents_unreachable_warning) {
  auto g = logging({"a", "x"});
  g.edge("__start__", "a").branch("a", [](const json::value&) { return "x"; });
  BOOST_TEST(g.compile().warnings().empty());
  auto declared = logging({"a", "x"});
  declared.edge("__start__", "a");
  declared.branch("a", [](const json::value&) { return "end"; }, {{"end", "__end__"}});
  BOOST_TEST(texts(declared.compile().warnings()) == std::vector{never_runs},
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(declared_command_destinations_count_as_reachable) {
  const auto commanding = [](std::vector<std::string> destinations) {
    auto g = logging({"x"});
    auto options = ss::json_node_options{};
    options.destinations = std::move(destinations);
    g.add(
        "a",
        [](const json::value&) {
          return ss::json_command{{}, {"x"}};
        },
        options);
    g.edge("__start__", "a");
    return g;
  };
  BOOST_TEST(commanding({}).compile().warnings().empty());
  BOOST_TEST(commanding({"x"}).compile().warnings().empty());
  BOOST_TEST(commanding({"__end__"}).compile().warnings().size() == 1U);
  BOOST_TEST(faults_of(commanding({"y"})) ==
                 std::vector<std::string>{"Found edge ending at unknown node `y`"},
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(join_with_unreachable_source_is_a_warning) {
  auto g = logging({"a", "b", "x"});
  g.edge("__start__", "a").join({"a", "b"}, "x");
  BOOST_TEST(g.compile().warnings().size() == 2U); // for b and x
}

BOOST_AUTO_TEST_CASE(lint_warns_about_paths_of_unequal_length) {
  const auto uneven = [](bool defer) {
    auto g = logging({"a", "b"});
    auto options = ss::json_node_options{};
    options.defer = defer;
    g.add("c", logs("c"), options);
    g.edge("__start__", "a").edge("a", "b").edge("a", "c").edge("b", "c");
    return g;
  };
  BOOST_TEST(uneven(false).compile().warnings().empty());
  auto lint = ss::compile_options{};
  lint.lint = true;
  const auto found = texts(uneven(false).compile(lint).warnings());
  BOOST_TEST_REQUIRE(found.size() == 1U);
  BOOST_TEST(found.front() == "node 'c' runs more than once: its edges from 'a' (step 1) and 'b' "
                              "(step 2) fire in different steps; make them one join, or defer the "
                              "node");
  BOOST_TEST(uneven(true).compile(lint).warnings().empty());
  auto even = logging({"a", "b", "c"});
  even.edge("__start__", "a").edge("__start__", "b").edge("a", "c").edge("b", "c");
  BOOST_TEST(even.compile(lint).warnings().empty());
}

BOOST_AUTO_TEST_CASE(invalid_breakpoints_are_reported_with_other_faults) {
  auto g = logging({"a", "a"});
  auto options = ss::compile_options{};
  options.interrupt_before = {"nobody", "a"};
  options.interrupt_after = {"none"};
  BOOST_TEST(faults_of(std::move(g), options) ==
                 (std::vector<std::string>{"Node `a` already present.",
                                           "Interrupt node `nobody` not found",
                                           "Interrupt node `none` not found",
                                           "Graph must have an entrypoint: add at least one edge "
                                           "from START to another node"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(compile_leaves_the_builder_empty) {
  auto g = logging({"a"});
  g.edge("__start__", "a");
  const auto first = g.compile();
  BOOST_TEST(faults_of(std::move(g)).size() == 1U);
  auto e = ss::engine{{.workers = 1}};
  BOOST_TEST(log_of(run(e, first)) == "a");
}

BOOST_AUTO_TEST_CASE(second_declaration_of_channel_is_a_fault) {
  auto g = logging({"a"});
  g.channel("log", "last").edge("__start__", "a");
  BOOST_TEST(faults_of(std::move(g)) == std::vector<std::string>{"Channel 'log' already exists"},
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(node_and_channel_can_share_a_name) {
  auto e = ss::engine{{.workers = 1}};
  auto g = logging({"log"});
  g.edge("__start__", "log");
  BOOST_TEST(log_of(run(e, g.compile())) == "log");
}

BOOST_AUTO_TEST_CASE(sequence_adds_edges_between_consecutive_nodes) {
  auto e = ss::engine{{.workers = 1}};
  auto g = logging({"a", "b", "c"});
  g.sequence({"__start__", "b", "a", "c", "__end__"});
  BOOST_TEST(log_of(run(e, g.compile())) == "b a c");
  auto typed = two_ways();
  typed.sequence({sort, left, right, ss::end});
  BOOST_TEST(log_for(typed.compile(), 0) == "leftright");
}

BOOST_AUTO_TEST_CASE(sequence_rejects_empty_list_and_repeated_nodes) {
  auto empty = logging({"a"});
  empty.edge("__start__", "a").sequence({});
  BOOST_TEST(faults_of(std::move(empty)) ==
                 std::vector<std::string>{"sequence() needs at least one node"},
             boost::test_tools::per_element());
  auto twice = logging({"a"});
  twice.sequence({"__start__", "a", "a"});
  const auto found = faults_of(std::move(twice));
  BOOST_TEST_REQUIRE(found.size() == 1U);
  BOOST_TEST(found.front() == "sequence() names node 'a' more than once");
}

BOOST_AUTO_TEST_CASE(bool_returned_by_router_selects_mapped_node) {
  auto g = two_ways();
  g.branch(sort, [](const feeling& s) { return s.n > 0; }, {{true, right}, {false, left}});
  const auto graph = g.compile();
  BOOST_TEST(log_for(graph, 1) == "right");
  BOOST_TEST(log_for(graph, -1) == "left");
  BOOST_TEST(graph.mermaid().find("sort -. &nbsp;true&nbsp; .-> right;") != std::string::npos);
  auto e = ss::engine{{.workers = 1}};
  auto j = logging({"a", "b"});
  j.edge("__start__", "a");
  j.branch("a", [](const json::value&) { return true; }, {{"true", "b"}, {"false", "__end__"}});
  BOOST_TEST(log_of(run(e, j.compile())) == "a b");
}

BOOST_AUTO_TEST_CASE(enumerator_or_text_returned_by_router_selects_node) {
  auto g = two_ways();
  g.branch(sort, [](const feeling& s) { return s.n == 0 ? mood::unsure : mood::good; },
           {{mood::good, right}, {mood::bad, left}});
  const auto graph = g.compile();
  BOOST_TEST(log_for(graph, 1) == "right");
  BOOST_TEST(graph.mermaid().find("&nbsp;bad&nbsp; .-> left;") != std::string::npos);
  try {
    static_cast<void>(log_for(graph, 0));
    BOOST_ERROR("no exception");
  } catch (const ss::graph_error& failed) {
    BOOST_TEST(failed.node() == "sort");
    BOOST_TEST(std::string{failed.what()}.find("a branch returned '2'") != std::string::npos);
  }
  auto text = two_ways();
  text.branch(sort, [](const feeling&) { return std::string{"to the left"}; },
              {{"to the left", left}, {"no further", ss::end}});
  BOOST_TEST(log_for(text.compile(), 0) == "left");
}

namespace {

struct parcel {
  int weight = 0;
};
BOOST_DESCRIBE_STRUCT(parcel, (), (weight))
struct letter {
  std::string text;
};
BOOST_DESCRIBE_STRUCT(letter, (), (text))

template <class In>
ss::update<feeling> does_nothing(const In&) {
  return {};
}

/// Returns the faults of a graph whose node and error handler have the given inputs.
template <class OfNode, class OfHandler>
std::vector<std::string> handler_faults(bool is_handler_first) {
  constexpr auto work = ss::node<OfNode>{"work"};
  constexpr auto handled = ss::node<OfHandler>{"work"};
  auto g = ss::graph<feeling>{};
  g.add("first", does_nothing<feeling>).edge(ss::start, "first");
  if (is_handler_first)
    g.on_error(handled, does_nothing<OfHandler>);
  g.add(work, does_nothing<OfNode>);
  if (!is_handler_first)
    g.on_error(handled, does_nothing<OfHandler>);
  try {
    static_cast<void>(g.compile());
  } catch (const ss::compile_error& e) {
    return texts(e.faults());
  }
  return {};
}

/// A graph that stops before `work`, which has the given input.
template <class In, class First>
ss::compiled_graph<feeling> stops_before_work(std::shared_ptr<ss::checkpointer> checkpointer,
                                              First first) {
  auto g = ss::graph<feeling>{};
  g.add("first", std::move(first)).edge(ss::start, "first");
  g.add(ss::node<In>{"work"}, does_nothing<In>);
  auto options = ss::compile_options{};
  options.checkpointer = std::move(checkpointer);
  options.interrupt_before = {"work"};
  return g.compile(std::move(options));
}

} // namespace

BOOST_AUTO_TEST_CASE(error_handler_with_other_input_type_is_rejected) {
  for (const auto is_handler_first : {false, true}) {
    BOOST_TEST((handler_faults<feeling, feeling>(is_handler_first).empty()));
    BOOST_TEST((handler_faults<parcel, parcel>(is_handler_first).empty()));
    for (const auto& faults : {handler_faults<feeling, parcel>(is_handler_first),
                               handler_faults<parcel, feeling>(is_handler_first),
                               handler_faults<parcel, letter>(is_handler_first)}) {
      BOOST_TEST_REQUIRE(faults.size() == 1U);
      BOOST_TEST(faults[0].find("the error handler of node 'work' takes") != std::string::npos);
    }
  }
}

// The type of a node's input may have changed since its task was saved.
BOOST_AUTO_TEST_CASE(resume_fails_if_input_type_of_node_changed) {
  auto e = ss::engine{{.workers = 1}};
  const auto goes = [](const feeling&) { return ss::command<feeling>{.go_to = {"work"}}; };
  const auto sends = [](const feeling&) {
    return ss::command<feeling>{.go_to = {{ss::node<parcel>{"work"}, parcel{7}}}};
  };
  const auto fails = [&](const ss::compiled_graph<feeling>& was,
                         const ss::compiled_graph<feeling>& is) {
    BOOST_TEST(!e.try_invoke(was, feeling{}, on("t")).error.has_value());
    BOOST_TEST(e.get_state(was, on("t")).next.size() == 1U);
    const auto resumed = e.try_invoke(is, ss::resume(), on("t"));
    BOOST_TEST_REQUIRE(resumed.error.has_value());
    BOOST_TEST_MESSAGE(resumed.error->text);
  };
  auto kept_in = ss::memory_checkpointer();
  fails(stops_before_work<feeling>(kept_in, goes), stops_before_work<parcel>(kept_in, goes));
  kept_in = ss::memory_checkpointer();
  fails(stops_before_work<parcel>(kept_in, sends), stops_before_work<feeling>(kept_in, sends));
  kept_in = ss::memory_checkpointer();
  fails(stops_before_work<parcel>(kept_in, sends), stops_before_work<letter>(kept_in, sends));
}

// In both orders, the branch of the node sees only the channels that the node reads.
BOOST_AUTO_TEST_CASE(error_handler_added_before_node_keeps_reads) {
  for (const auto is_handler_first : {false, true}) {
    auto g = ss::json_graph{};
    auto seen = std::make_shared<json::value>();
    const auto handler = [](const json::value&) { return json::object{}; };
    g.channel("log", "append").channel("secret");
    g.branch("a", [seen](const json::value& in) {
      *seen = in;
      return std::string{"__end__"};
    });
    if (is_handler_first)
      g.on_error("a", handler);
    g.add("a", logs("a"), {.reads = {"log"}}).edge("__start__", "a");
    if (!is_handler_first)
      g.on_error("a", handler);
    auto e = ss::engine{{.workers = 1}};
    (void)run(e, g.compile(), json::object{{"secret", 1}});
    BOOST_TEST(json::serialize(*seen) == R"({"log":["a"]})");
  }
}

BOOST_AUTO_TEST_CASE(error_handler_of_json_graph_has_options) {
  auto g = ss::json_graph{};
  auto seen = std::make_shared<json::value>();
  auto attempts = std::make_shared<int>(0);
  g.channel("log", "append").channel("secret");
  g.add("a", [](const json::value&) -> json::object { throw std::runtime_error{"no"}; });
  const auto handler = [=](const json::value& in) {
    *seen = in;
    if (++*attempts < 3)
      throw std::runtime_error{"not yet"};
    return json::object{{"log", json::array{"handled"}}};
  };
  const auto policy = ss::retry_policy{.initial_interval = std::chrono::milliseconds{1},
                                       .jitter = false,
                                       .retry_on = [](const std::exception_ptr&) { return true; }};
  g.on_error("a", handler, {.reads = {"log"}, .retry = {policy}}).edge("__start__", "a");
  auto e = ss::engine{{.workers = 1}};
  const auto result = run(e, g.compile(), json::object{{"secret", 1}, {"log", json::array{"b"}}});
  BOOST_TEST(*attempts == 3);
  BOOST_TEST(json::serialize(*seen) == R"({"log":["b"]})");
  BOOST_TEST(json::serialize(result.state.at("log")) == R"(["b","handled"])");

  auto unknown = ss::json_graph{};
  unknown.add("a", logs("a")).on_error("a", handler, {.reads = {"nothing"}});
  unknown.edge("__start__", "a");
  BOOST_CHECK_EXCEPTION((void)unknown.compile(), ss::compile_error, [](const auto& error) {
    return std::string_view{error.what()}.find("reads 'nothing'") != std::string_view::npos;
  });
}

BOOST_AUTO_TEST_SUITE_END()

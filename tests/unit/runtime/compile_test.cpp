// SPDX-License-Identifier: Apache-2.0
// compile(): faults and their texts, error descriptions, and the text form of drawings.
#include <superstep/runtime/graph.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <functional>
#include <set>

using namespace superstep;

BOOST_AUTO_TEST_SUITE(compile)

namespace {

struct nothing {
  int n = 0;
};
BOOST_DESCRIBE_STRUCT(nothing, (), (n))

constexpr auto a = node<nothing>{"a"};
constexpr auto b = node<nothing>{"b"};
constexpr auto worker = node<int>{"worker"};
void idle(const nothing&) {}
destination at(std::string_view name) {
  return name;
}

std::vector<fault> faults_of(graph<nothing>& g) {
  try {
    static_cast<void>(g.compile());
  } catch (const compile_error& e) {
    return e.faults();
  }
  return {};
}

node_options limited(timeout_policy limit) {
  auto options = node_options{};
  options.timeout = limit;
  return options;
}

struct wrong_graph {
  const char* text;
  std::function<void(graph<nothing>&)> build;
};
std::ostream& operator<<(std::ostream& out, const wrong_graph& w) {
  return out << w.text;
}

const auto wrong_graphs = std::vector<wrong_graph>{
    {"Graph must have an entrypoint: add at least one edge from START to another node",
     [](auto& g) { g.add(a, idle); }},
    {"Node `a` already present.", [](auto& g) { g.add(a, idle).add(a, idle).edge(start, a); }},
    {"Node `__start__` is reserved.",
     [](auto& g) { g.add(a, idle).add(node<nothing>{start}, idle).edge(start, a); }},
    {"Node `__end__` is reserved.",
     [](auto& g) { g.add(a, idle).add(node<nothing>{end}, idle).edge(start, a); }},
    {"'|' is a reserved character and is not allowed in the node names.",
     [](auto& g) { g.add(a, idle).add(node<nothing>{"x|y"}, idle).edge(start, a); }},
    {"':' is a reserved character and is not allowed in the node names.",
     [](auto& g) { g.add(a, idle).add(node<nothing>{"x:y"}, idle).edge(start, a); }},
    {"Node `a#0` ends in '#' and a number, which is reserved for the tasks of Sends to node `a`",
     [](auto& g) { g.add(a, idle).add(node<nothing>{"a#0"}, idle).edge(start, a); }},
    {"node 'a': its timeout must be greater than 0",
     [](auto& g) {
       g.add(a, idle, limited({.run = std::chrono::milliseconds{-5}})).edge(start, a);
     }},
    {"node 'a': its timeout must be greater than 0",
     [](auto& g) {
       const auto limit = timeout_policy{std::chrono::seconds{1}, std::chrono::milliseconds{-1}};
       g.add(a, idle, limited(limit)).edge(start, a);
     }},
    {"node 'a': its timeout must be greater than 0",
     [](auto& g) { g.defaults(limited({})).add(a, idle).edge(start, a); }},
    {"END cannot be a start node", [](auto& g) { g.add(a, idle).edge(start, a).edge(end, a); }},
    {"START cannot be an end node", [](auto& g) { g.add(a, idle).edge(start, a).edge(a, start); }},
    {"START cannot be part of the join to 'b'; use edge() to start 'b' with the run",
     [](auto& g) {
       g.add(a, idle).add(b, idle).edge(start, a).edge({start, a}, b);
     }},
    {"the join to 'a' has no sources: name the nodes that it waits for",
     [](auto& g) { g.add(a, idle).edge(start, a).edge({}, a); }},
    {"Found edge starting at unknown node 'b'",
     [](auto& g) { g.add(a, idle).edge(start, a).edge(b, a); }},
    {"Found edge ending at unknown node `b`",
     [](auto& g) { g.add(a, idle).edge(start, a).edge(a, b); }},
    {"Found edge ending at unknown node `c`",
     [](auto& g) {
       auto options = node_options{};
       options.destinations = {"c"};
       g.add(a, idle, options).edge(start, a);
     }},
    {"At 'a' node, a branch found unknown target 'b'",
     [](auto& g) {
       g.add(a, idle).edge(start, a).branch(a, [](const nothing&) { return at("b"); }, {b});
     }},
    {"Found edge starting at unknown node 'b'",
     [](auto& g) {
       g.add(a, idle).edge(start, a).branch(b, [](const nothing&) { return at("a"); });
     }},
    {"node 'worker' is activated by Sends only: it cannot be the target of an edge",
     [](auto& g) { g.add(a, idle).add(worker, [](const int&) {}).edge(start, a).edge(a, worker); }},
};

} // namespace

BOOST_DATA_TEST_CASE(compile_reports_each_mistake_as_one_fault,
                     boost::unit_test::data::make(wrong_graphs), w) {
  auto g = graph<nothing>{};
  w.build(g);
  const auto faults = faults_of(g);
  BOOST_TEST_REQUIRE(faults.size() == 1u);
  BOOST_TEST(faults.front().text == w.text);
}

BOOST_AUTO_TEST_CASE(step_timeout_of_zero_or_less_is_rejected) {
  for (const auto limit : {std::chrono::milliseconds{0}, std::chrono::milliseconds{-1},
                           std::chrono::milliseconds::min()}) {
    auto g = graph<nothing>{};
    g.add(a, idle).edge(start, a);
    BOOST_CHECK_EXCEPTION(static_cast<void>(g.compile({.step_timeout = limit})), compile_error,
                          [](const compile_error& e) {
                            return e.faults().size() == 1 &&
                                   e.faults().front().text == "step_timeout must be greater than 0";
                          });
  }
  auto g = graph<nothing>{};
  g.add(a, idle).edge(start, a);
  BOOST_CHECK_NO_THROW(
      static_cast<void>(g.compile({.step_timeout = std::chrono::milliseconds{1}})));
}

BOOST_AUTO_TEST_CASE(all_faults_are_reported_together) {
  auto g = graph<nothing>{};
  g.add(a, idle).add(a, idle).add(node<nothing>{"x:y"}, idle).edge(a, b).edge(end, a);
  try {
    static_cast<void>(g.compile());
    BOOST_ERROR("no exception");
  } catch (const compile_error& e) {
    BOOST_TEST(e.faults().size() ==
               5u); // duplicate a, the colon, unknown b, the end as a source, no entry
    BOOST_TEST(e.code() == make_error_code(graph_errc::invalid_graph));
    for (const auto& f : e.faults())
      BOOST_TEST(std::string_view{e.what()}.find(f.text) != std::string_view::npos);
  }
}

BOOST_AUTO_TEST_CASE(unreachable_nodes_are_accepted_by_default) {
  auto g = graph<nothing>{};
  g.add(a, idle).add(b, idle).edge(start, a);
  BOOST_TEST(faults_of(g).empty());
}

BOOST_AUTO_TEST_CASE(every_graph_error_has_its_own_message) {
  auto texts = std::set<std::string>{};
  for (auto code = 1; code <= static_cast<int>(graph_errc::invalid_graph); ++code) {
    const auto error = make_error_code(static_cast<graph_errc>(code));
    BOOST_TEST(error.category().name() == "graph");
    BOOST_TEST(error.message() != "unknown graph error");
    BOOST_TEST(texts.insert(error.message()).second);
  }
  BOOST_TEST(make_error_code(static_cast<graph_errc>(99)).message() == "unknown graph error");
}

BOOST_AUTO_TEST_CASE(nested_exceptions_are_described_outermost_first) {
  auto failure = std::exception_ptr{};
  try {
    try {
      throw std::runtime_error{"inner"};
    } catch (...) {
      std::throw_with_nested(std::runtime_error{"outer"});
    }
  } catch (...) {
    failure = std::current_exception();
  }
  BOOST_TEST(describe(failure) == "outer: inner");
  BOOST_TEST(describe(nullptr).empty());
  BOOST_TEST(describe(std::make_exception_ptr(7)) ==
             "an exception that is not derived from std::exception");
}

BOOST_AUTO_TEST_CASE(mermaid_text_has_the_form_of_langgraph) {
  auto g = graph<nothing>{};
  auto options = node_options{};
  options.destinations = {"worker"};
  g.add(b, idle)
      .add(node<nothing>{"a b"}, idle, options)
      .add(node<nothing>{"_x_"}, idle)
      .add(worker, [](const int&) {});
  g.edge(start, b).edge(b, at("a b")).edge({b, at("a b")}, at("_x_"));
  g.branch(b, [](const nothing&) { return at("_x_"); }, {at("a b"), at(end)});
  BOOST_TEST(g.compile().mermaid() ==
             "---\nconfig:\n  flowchart:\n    curve: linear\n---\ngraph TD;\n"
             "\t__start__([<p>__start__</p>]):::first\n"
             "\tb(b)\n"
             "\ta\\20b(a b)\n"
             "\t_x_(<p>_x_</p>)\n"
             "\tworker(worker)\n"
             "\t__end__([<p>__end__</p>]):::last\n"
             "\t__start__ --> b;\n"
             "\ta\\20b --> _x_;\n"
             "\ta\\20b -.-> worker;\n"
             "\tb -.-> __end__;\n"
             "\tb --> _x_;\n"
             "\tb --> a\\20b;\n"
             "\t_x_ --> __end__;\n"
             "\tworker --> __end__;\n"
             "\tclassDef default fill:#f2f0ff,line-height:1.2\n"
             "\tclassDef first fill-opacity:0\n"
             "\tclassDef last fill:#bfb6fc\n");
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: Apache-2.0
// Drawings of graphs in Mermaid, Graphviz and JSON: subgraphs, labels and escaping.
#include "graph_api/json_runs.hpp"

#include <superstep/runtime/drawing.hpp>

#include <boost/test/unit_test.hpp>

using namespace graph_api;

BOOST_AUTO_TEST_SUITE(drawing)

namespace {

ss::compiled_json_graph inner(const std::vector<std::string>& nodes) {
  auto g = logging(nodes);
  auto all = std::vector<std::string>{"__start__"};
  all.insert(all.end(), nodes.begin(), nodes.end());
  g.sequence(all);
  return g.compile();
}

/// A graph of a, then a graph of two nodes, then a choice between b and the end.
ss::compiled_json_graph outer() {
  auto g = logging({"a", "b"});
  g.add("sub", inner({"one", "two"}));
  g.sequence({"__start__", "a", "sub"});
  g.branch("sub", [](const json::value&) { return "more"; },
           {{"more", "b"}, {"__end__", "__end__"}});
  return g.compile();
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

} // namespace

BOOST_AUTO_TEST_CASE(mermaid_without_styles_lists_only_edges) {
  auto options = ss::draw_options{};
  options.styles = false;
  BOOST_TEST(ss::to_mermaid(outer(), options) == "graph TD;\n"
                                                 "\t__start__ --> a;\n"
                                                 "\ta --> sub;\n"
                                                 "\tsub -.-> __end__;\n"
                                                 "\tsub -. &nbsp;more&nbsp; .-> b;\n"
                                                 "\tb --> __end__;\n");
}

BOOST_AUTO_TEST_CASE(subgraphs_are_drawn_on_request) {
  auto options = ss::draw_options{};
  options.expand = 1;
  BOOST_TEST(ss::to_mermaid(outer(), options) ==
             "---\nconfig:\n  flowchart:\n    curve: linear\n---\ngraph TD;\n"
             "\t__start__([<p>__start__</p>]):::first\n"
             "\ta(a)\n"
             "\tb(b)\n"
             "\t__end__([<p>__end__</p>]):::last\n"
             "\t__start__ --> a;\n"
             "\ta --> sub\\3aone;\n"
             "\tsub\\3atwo -.-> __end__;\n"
             "\tsub\\3atwo -. &nbsp;more&nbsp; .-> b;\n"
             "\tb --> __end__;\n"
             "\tsubgraph sub\n"
             "\tsub\\3aone(one)\n"
             "\tsub\\3atwo(two)\n"
             "\tsub\\3aone --> sub\\3atwo;\n"
             "\tend\n"
             "\tclassDef default fill:#f2f0ff,line-height:1.2\n"
             "\tclassDef first fill-opacity:0\n"
             "\tclassDef last fill:#bfb6fc\n");
}

BOOST_AUTO_TEST_CASE(subgraphs_are_expanded_to_requested_depth) {
  auto g = logging({"a"});
  g.add("deep", outer()).sequence({"__start__", "deep", "a"});
  const auto graph = g.compile();
  auto options = ss::draw_options{};
  options.expand = 1;
  const auto once = ss::to_mermaid(graph, options);
  BOOST_TEST(has(once, "deep\\3asub(sub)"));
  options.expand = 2;
  const auto twice = ss::to_mermaid(graph, options);
  BOOST_TEST(has(twice, "\tsubgraph sub\n\tdeep\\3asub\\3aone(one)\n"));
  // Two paths lead to the end of the subgraph, so its END stays as a node.
  BOOST_TEST(has(twice, "\tdeep\\3a__end__ --> a;\n"));
}

BOOST_AUTO_TEST_CASE(duplicate_names_of_expanded_subgraphs_are_rejected) {
  auto middle = logging({"m"});
  middle.add("sub", inner({"one", "two"})).sequence({"__start__", "m", "sub"});
  auto g = logging({});
  g.add("sub", inner({"one", "two"})).add("middle", middle.compile());
  g.sequence({"__start__", "sub", "middle"});
  auto options = ss::draw_options{};
  options.expand = 2;
  const auto graph = g.compile();
  BOOST_CHECK_EXCEPTION(
      static_cast<void>(ss::to_mermaid(graph, options)), ss::graph_error,
      [](const ss::graph_error& e) { return has(e.what(), "Found duplicate subgraph 'sub'"); });
}

BOOST_AUTO_TEST_CASE(node_properties_are_drawn_below_node_name) {
  auto g = logging({"a"});
  auto options = ss::json_node_options{};
  options.defer = true;
  options.metadata = json::object{{"owner", "<me>"},
                                  {"__tools", json::array{"add", "div"}},
                                  {"nested", json::object{{"x", 1}}},
                                  {"fast", true}};
  g.add("b", logs("b"), options).sequence({"__start__", "a", "b"});
  auto compiled = ss::compile_options{};
  compiled.interrupt_before = {"b"};
  compiled.interrupt_after = {"*"};
  const auto text = g.compile(compiled).mermaid();
  BOOST_TEST(has(text, "\ta(a<hr/><small><em>__interrupt = after</em></small>)\n"));
  BOOST_TEST(has(text, "\tb(b<hr/><small><em>owner = #60;me#62;\n__tools = add, div\n"
                       "fast = True\ndefer = True\n__interrupt = before,after</em></small>)\n"));
}

BOOST_AUTO_TEST_CASE(long_labels_are_wrapped) {
  auto g = logging({"a"});
  g.edge("__start__", "a");
  g.branch("a", [](const json::value&) { return ""; },
           {{"one two three four five six seven eight nine ten eleven", "__end__"}});
  BOOST_TEST(has(g.compile().mermaid(), "seven eight nine&nbsp<br>&nbspten eleven&nbsp; .->"));
}

// Mermaid's lexer compares whole words: `end-2` begins with its keyword, `ending` does not.
BOOST_AUTO_TEST_CASE(mermaid_keywords_in_ids_are_escaped) {
  const auto expected = std::vector<std::pair<std::string, std::string>>{
      {"end", "\\65nd(end)"},       {"subgraph", "\\73ubgraph(subgraph)"},
      {"end-2", "\\65nd-2(end-2)"}, {"style me", "\\73tyle\\20me(style me)"},
      {"_self", "\\5fself(_self)"}, {"ending", "ending(ending)"},
      {"End", "End(End)"},          {"a-end", "a-end(a-end)"}};
  for (const auto& [name, line] : expected) {
    auto g = logging({name});
    const auto text = g.edge("__start__", name).compile().mermaid();
    BOOST_TEST(has(text, "\t" + line + "\n"), text);
    BOOST_TEST(has(text, "\t__start__ --> " + line.substr(0, line.find('(')) + ";\n"), text);
  }
}

BOOST_AUTO_TEST_CASE(mermaid_labels_are_escaped) {
  auto g = logging({"ask (me) [now]", "b"});
  g.edge("__start__", "ask (me) [now]");
  g.branch("ask (me) [now]", [](const json::value&) { return ""; }, {{"yes|(no)", "b"}});
  const auto text = g.compile().mermaid();
  BOOST_TEST(has(text, "(ask #40;me#41; #91;now#93;)\n"), text);
  BOOST_TEST(has(text, "-. &nbsp;yes#124;#40;no#41;&nbsp; .-> b;\n"), text);
}

BOOST_AUTO_TEST_CASE(mermaid_cluster_ids_are_escaped) {
  auto g = logging({"a"});
  g.add("end", inner({"one", "two"})).add("my (own)", inner({"three", "four"}));
  g.sequence({"__start__", "end", "my (own)", "a"});
  auto options = ss::draw_options{};
  options.expand = 1;
  const auto text = ss::to_mermaid(g.compile(), options);
  BOOST_TEST(has(text, "\tsubgraph \\65nd[\"end\"]\n\t\\65nd\\3aone(one)\n"), text);
  BOOST_TEST(has(text, "\tsubgraph my\\20\\28own\\29[\"my #40;own#41;\"]\n"), text);
}

BOOST_AUTO_TEST_CASE(graphviz_draws_subgraph_clusters_and_dotted_branches) {
  auto options = ss::draw_options{};
  options.expand = 1;
  const auto text = ss::to_dot(outer(), options);
  BOOST_TEST(text.starts_with("digraph \"graph\" {\n"));
  BOOST_TEST(has(text, "  \"__start__\" [label=\"__start__\", shape=oval];\n"));
  BOOST_TEST(has(text, "  subgraph \"cluster_sub\" {\n    label=\"sub\";\n"
                       "    \"sub:one\" [label=\"one\"];\n"));
  BOOST_TEST(has(text, "  \"sub:two\" -> \"b\" [style=dotted, label=\"more\"];\n"));
  BOOST_TEST(has(text, "  \"a\" -> \"sub:one\";\n"));
}

BOOST_AUTO_TEST_CASE(graphviz_clusters_use_font_of_nodes) {
  BOOST_TEST(has(ss::to_dot(outer()), "  graph [fontname=\"sans-serif\", labeljust=l];\n"));
}

BOOST_AUTO_TEST_CASE(node_names_are_escaped_in_graphviz) {
  auto g = logging({"say \"hi\"\\"});
  g.edge("__start__", "say \"hi\"\\");
  BOOST_TEST(has(ss::to_dot(g.compile()), "\"say \\\"hi\\\"\\\\\" [label="));
}

BOOST_AUTO_TEST_CASE(json_drawing_lists_nodes_and_edges) {
  const auto drawn = ss::to_graph_json(outer());
  BOOST_TEST(drawn.at("nodes").as_array().size() == 5U);
  BOOST_TEST(json::serialize(drawn.at("nodes").at(1)) ==
             R"({"id":"a","type":"runnable","data":{"name":"a"}})");
  BOOST_TEST(json::serialize(drawn.at("edges").at(3)) ==
             R"({"source":"sub","target":"b","conditional":true,"data":"more"})");
  BOOST_TEST(json::serialize(drawn.at("edges").at(0)) == R"({"source":"__start__","target":"a"})");
}

BOOST_AUTO_TEST_SUITE_END()

// SPDX-License-Identifier: Apache-2.0
// Collects the nodes and edges of a drawing. Expanded subgraphs replace their nodes. mermaid.cpp
// and dot.cpp write the drawing as text. The order is that of LangGraph's draw_graph()
// (langgraph/pregel/_draw.py).
#include "drawn_graph.hpp"

#include <algorithm>
#include <tuple>

namespace superstep::detail {

namespace {

/// Returns a metadata value as text. A list becomes its scalar items, separated by commas; objects
/// become JSON.
std::string shown(const json::value& v) {
  if (v.is_string())
    return std::string{v.get_string()};
  if (v.is_bool())
    return v.get_bool() ? "True" : "False"; // as LangGraph prints booleans
  if (v.is_null())
    return "None";
  if (!v.is_array())
    return to_text(v);
  auto text = std::string{};
  for (const auto& item : v.get_array()) {
    if (item.is_structured())
      continue;
    text += (text.empty() ? "" : ", ") + shown(item);
  }
  return text;
}

bool is_listed(const std::vector<std::string>& names, const std::string& node) {
  return std::ranges::find(names, node) != names.end() ||
         std::ranges::find(names, "*") != names.end();
}

drawn_node node_of(const program& table, const node_entry& node) {
  auto out = drawn_node{node.name, node.name, {}, false, false};
  for (const auto& [key, v] : node.options.metadata) {
    if (!v.is_object())
      out.metadata.emplace_back(key, shown(v));
  }
  if (node.is_deferred)
    out.metadata.emplace_back("defer", "True");
  const auto before = is_listed(table.options().interrupt_before, node.name);
  const auto after = is_listed(table.options().interrupt_after, node.name);
  if (before || after)
    out.metadata.emplace_back("__interrupt", before && after ? "before,after"
                                             : before        ? "before"
                                                             : "after");
  return out;
}

/// Adds the edges of a node. Returns false if the node has no edges. A run may then end after the
/// node.
bool add_edges(const program& table, const node_entry& node, std::vector<drawn_edge>& out) {
  const auto before = out.size();
  for (const auto to : node.edges)
    out.push_back({node.name, table.node(to).name, false, {}});
  for (const auto [join, member] : node.joins)
    out.push_back({node.name, table.node(table.joins()[join].target).name, false, {}});
  for (const auto& branch : node.branches) {
    for (const auto& [label, to] : branch.declared)
      out.push_back({node.name, to, true, label == to ? std::string{} : label});
  }
  for (const auto& to : node.options.destinations)
    out.push_back({node.name, to, true, {}});
  return out.size() != before;
}

/// Whether an error handler serves exactly one node. The graph's default handler usually serves
/// several.
bool serves_one(const program& table, std::uint32_t handler) {
  return std::ranges::count(table.nodes(), handler,
                            [](const auto& node) { return node->handler; }) == 1;
}

/// Draws one level. Edges are sorted, and only one edge is drawn from a node to another. Edges to
/// END that the graph does not declare come last.
drawn_graph draw_level(const program& table) {
  auto out = drawn_graph{};
  auto ends = std::vector<drawn_edge>{};
  out.nodes.push_back({std::string{start_node}, std::string{start_node}, {}, true, false});
  const auto add = [&](const node_entry& node) {
    if (!add_edges(table, node, out.edges))
      ends.push_back({node.name, std::string{end_node}, false, {}});
  };
  add(table.entry());
  for (const auto i : table.declaration_order()) {
    const auto& node = table.node(i);
    // a default handler of several nodes is not drawn, because its edges would only clutter the
    // drawing
    if (node.is_handler && !serves_one(table, i))
      continue;
    out.nodes.push_back(node_of(table, node));
    add(node);
    if (node.handler != program::no_node && serves_one(table, node.handler))
      out.edges.push_back({node.name, table.node(node.handler).name, true, "error"});
  }
  out.nodes.push_back({std::string{end_node}, std::string{end_node}, {}, false, true});
  std::ranges::stable_sort(out.edges, {}, [](const drawn_edge& e) {
    return std::tie(e.source, e.target, e.is_conditional, e.label);
  });
  const auto [first, last] = std::ranges::unique(
      out.edges, {}, [](const drawn_edge& e) { return std::tie(e.source, e.target); });
  out.edges.erase(first, last);
  std::ranges::sort(ends, {}, &drawn_edge::source);
  out.edges.insert(out.edges.end(), ends.begin(), ends.end());
  return out;
}

/// Returns the id of the node of a drawn subgraph to which edges of its parent are attached. `end`
/// is START or END. If `end` has only one neighbour, edges are attached to this neighbour, and
/// `end` is removed from the drawing. Otherwise edges are attached to `end` itself.
std::string trim(drawn_graph& g, std::string_view end, std::string drawn_edge::*near,
                 std::string drawn_edge::*far) {
  const auto touches = [&](const drawn_edge& e) { return e.*near == end; };
  const auto found = std::ranges::find_if(g.edges, touches);
  if (std::ranges::count_if(g.edges, touches) != 1)
    return std::string{end};
  auto only = (*found).*far;
  if (only == start_node || only == end_node)
    return std::string{end};
  g.edges.erase(found);
  std::erase_if(g.nodes, [&](const drawn_node& n) { return n.id == end; });
  return only;
}

/// Replaces a node by the drawing of its subgraph.
void insert(drawn_graph& into, const std::string& node, drawn_graph child) {
  const auto prefix = node + ':';
  const auto first = prefix + trim(child, start_node, &drawn_edge::source, &drawn_edge::target);
  const auto last = prefix + trim(child, end_node, &drawn_edge::target, &drawn_edge::source);
  for (auto& n : child.nodes) {
    n.id = prefix + n.id;
    n.is_start = n.is_end = false;
  }
  for (auto& e : into.edges) {
    if (e.source == node)
      e.source = last;
    if (e.target == node)
      e.target = first;
  }
  for (auto& e : child.edges)
    into.edges.push_back({prefix + e.source, prefix + e.target, e.is_conditional, e.label});
  const auto at = std::ranges::find(into.nodes, node, &drawn_node::id);
  const auto place = into.nodes.erase(at);
  into.nodes.insert(place, std::make_move_iterator(child.nodes.begin()),
                    std::make_move_iterator(child.nodes.end()));
}

} // namespace

drawn_graph draw(const program& table, std::size_t expand) {
  auto out = draw_level(table);
  if (expand == 0)
    return out;
  for (const auto i : table.declaration_order()) {
    const auto& node = table.node(i);
    // The recursion ends, because a graph cannot contain itself. `expand` also bounds it.
    if (const auto nested = node.body->nested())
      insert(out, node.name, draw(*nested, expand - 1));
  }
  return out;
}

std::string_view cluster_of(std::string_view id) noexcept {
  const auto colon = id.rfind(':');
  return colon == std::string_view::npos ? std::string_view{} : id.substr(0, colon);
}

} // namespace superstep::detail

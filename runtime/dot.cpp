// SPDX-License-Identifier: Apache-2.0
// Draws graphs as input for Graphviz and as JSON. drawn_graph.cpp collects the nodes and edges.
#include "drawn_graph.hpp"

#include <algorithm>

namespace superstep {

namespace {

using namespace detail;

/// Returns a quoted string of the dot language. Quotes and backslashes are escaped, so that a name
/// from a file cannot end the string early.
std::string dot_text(std::string_view text) {
  auto out = std::string{"\""};
  for (const auto c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '"' || c == '\\')
      out += '\\';
    out += c;
  }
  return out + '"';
}

/// Returns the label of a node: its name, and a line for each metadata entry.
std::string label_of(const drawn_node& n) {
  auto label = n.name;
  for (const auto& [key, shown] : n.metadata)
    label += '\n' + key + " = " + shown;
  return label;
}

/// Returns the text for the nodes of one level, starting with the node at index `at`. Subgraphs in
/// the level become clusters.
std::string dot_level(const drawn_graph& g, const std::string& cluster, std::size_t& at) {
  auto text = std::string{};
  const auto indent =
      std::string(2 * (1 + static_cast<std::size_t>(std::ranges::count(cluster, ':')) +
                       (cluster.empty() ? 0 : 1)),
                  ' ');
  const auto prefix = cluster.empty() ? std::string{} : cluster + ':';
  while (at < g.nodes.size() && g.nodes[at].id.starts_with(prefix)) {
    const auto& n = g.nodes[at];
    const auto colon = n.id.find(':', prefix.size());
    if (colon == std::string::npos) {
      text += indent + dot_text(n.id) + " [label=" + dot_text(label_of(n)) +
              (n.is_start || n.is_end ? ", shape=oval" : "") + "];\n";
      ++at;
      continue;
    }
    const auto inner = n.id.substr(0, colon);
    text += indent + "subgraph " + dot_text("cluster_" + inner) + " {\n" + indent +
            "  label=" + dot_text(inner.substr(prefix.size())) + ";\n" + dot_level(g, inner, at) +
            indent + "}\n";
  }
  return text;
}

} // namespace

std::string to_dot(const detail::program& table, draw_options options) {
  const auto graph = draw(table, options.expand);
  auto text = "digraph " + dot_text(table.name()) +
              " {\n  rankdir=TB;\n  graph [fontname=\"sans-serif\", labeljust=l];\n  node "
              "[shape=box, style=rounded, fontname=\"sans-serif\"];\n"
              "  edge [fontname=\"sans-serif\", fontsize=10];\n";
  auto at = std::size_t{0};
  text += dot_level(graph, {}, at);
  for (const auto& e : graph.edges) {
    text += "  " + dot_text(e.source) + " -> " + dot_text(e.target);
    if (e.is_conditional)
      text += " [style=dotted" + (e.label.empty() ? "" : ", label=" + dot_text(e.label)) + ']';
    text += ";\n";
  }
  return text + "}\n";
}

json::object to_graph_json(const detail::program& table, draw_options options) {
  const auto graph = draw(table, options.expand);
  auto nodes = json::array{};
  for (const auto& n : graph.nodes) {
    auto node =
        json::object{{"id", n.id}, {"type", "runnable"}, {"data", json::object{{"name", n.name}}}};
    auto metadata = json::object{};
    for (const auto& [key, shown] : n.metadata)
      metadata.emplace(key, shown);
    if (!metadata.empty())
      node.emplace("metadata", std::move(metadata));
    nodes.push_back(std::move(node));
  }
  auto edges = json::array{};
  for (const auto& e : graph.edges) {
    auto edge = json::object{{"source", e.source}, {"target", e.target}};
    if (e.is_conditional)
      edge.emplace("conditional", true);
    if (!e.label.empty())
      edge.emplace("data", e.label);
    edges.push_back(std::move(edge));
  }
  auto out = json::object{};
  out.emplace("nodes", std::move(nodes));
  out.emplace("edges", std::move(edges));
  return out;
}

} // namespace superstep

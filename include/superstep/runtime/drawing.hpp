// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>
#include <superstep/runtime/compiled_graph.hpp>
#include <superstep/runtime/detail/program.hpp>

#include <cstddef>
#include <string>

namespace superstep {

/// How a compiled graph is drawn. Edges are solid, what a branch or a Command chooses is dotted and
/// has the label of its path map.
struct draw_options {
  /// Graphs inside graphs are drawn instead of their nodes, so many levels deep; 0: none is.
  std::size_t expand = 0;
  /// Mermaid: nodes with shapes, metadata and colours; off: edges alone.
  bool styles = true;
};

/// As Mermaid text, in the reference's layout. Throws graph_error{invalid_graph} when two expanded
/// subgraphs have one name, which Mermaid cannot show.
[[nodiscard]] std::string to_mermaid(const detail::program&, draw_options = {});
/// As input for Graphviz's `dot`, expanded subgraphs as clusters.
[[nodiscard]] std::string to_dot(const detail::program&, draw_options = {});
/// As {"nodes": [{"id", "type", "data", "metadata"}], "edges": [{"source", "target", "conditional",
/// "data"}]}; what does not apply is left out.
[[nodiscard]] json::object to_graph_json(const detail::program&, draw_options = {});

/// Draws a compiled graph as Mermaid text, in LangGraph's layout. Throws
/// graph_error{invalid_graph} if two expanded subgraphs have one name, which Mermaid cannot show.
template <class State>
[[nodiscard]] std::string to_mermaid(const compiled_graph<State>& graph,
                                     draw_options options = {}) {
  return to_mermaid(*detail::program_of(graph), options);
}
/// Draws a compiled graph as input for Graphviz's `dot`, expanded subgraphs as clusters.
template <class State>
[[nodiscard]] std::string to_dot(const compiled_graph<State>& graph, draw_options options = {}) {
  return to_dot(*detail::program_of(graph), options);
}
/// Describes a compiled graph as {"nodes": [{"id", "type", "data", "metadata"}], "edges":
/// [{"source", "target", "conditional", "data"}]}; what does not apply is left out.
template <class State>
[[nodiscard]] json::object to_graph_json(const compiled_graph<State>& graph,
                                         draw_options options = {}) {
  return to_graph_json(*detail::program_of(graph), options);
}

} // namespace superstep

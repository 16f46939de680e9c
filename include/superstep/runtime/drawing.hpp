// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>
#include <superstep/runtime/compiled_graph.hpp>
#include <superstep/runtime/detail/program.hpp>

#include <cstddef>
#include <string>

namespace superstep {

/// Options for drawing a compiled graph. Edges are drawn as solid lines. Targets that a branch or a
/// command chooses are drawn as dotted lines, with the label of the path map.
///
/// The functions below may be called from any thread.
struct draw_options {
  /// Number of levels of subgraphs that are drawn in place of their nodes (LangGraph's `xray`).
  /// With 0, a subgraph is drawn as a single node.
  std::size_t expand = 0;
  /// Whether Mermaid text has shapes, metadata and colours. Otherwise it has edges only.
  bool styles = true;
};

/// Returns the graph as Mermaid text in LangGraph's layout (draw_mermaid in
/// langchain_core/runnables/graph_mermaid.py). Throws graph_error{invalid_graph} if two expanded
/// subgraphs have the same name, because Mermaid cannot show them.
[[nodiscard]] std::string to_mermaid(const detail::program&, draw_options = {});
/// Returns the graph as input for Graphviz's `dot`, with expanded subgraphs as clusters.
[[nodiscard]] std::string to_dot(const detail::program&, draw_options = {});
/// Returns LangChain's `Graph.to_json`: {"nodes": [{"id", "type", "data", "metadata"}], "edges":
/// [{"source", "target", "conditional", "data"}]}. Keys without a value are omitted.
[[nodiscard]] json::object to_graph_json(const detail::program&, draw_options = {});

/// Returns a compiled graph as Mermaid text in LangGraph's layout. Throws
/// graph_error{invalid_graph} if two expanded subgraphs have the same name, because Mermaid cannot
/// show them.
template <class State>
[[nodiscard]] std::string to_mermaid(const compiled_graph<State>& graph,
                                     draw_options options = {}) {
  return to_mermaid(*detail::program_of(graph), options);
}
/// Returns a compiled graph as input for Graphviz's `dot`, with expanded subgraphs as clusters.
template <class State>
[[nodiscard]] std::string to_dot(const compiled_graph<State>& graph, draw_options options = {}) {
  return to_dot(*detail::program_of(graph), options);
}
/// Returns a compiled graph as {"nodes": [{"id", "type", "data", "metadata"}], "edges": [{"source",
/// "target", "conditional", "data"}]}. Keys without a value are omitted.
template <class State>
[[nodiscard]] json::object to_graph_json(const compiled_graph<State>& graph,
                                         draw_options options = {}) {
  return to_graph_json(*detail::program_of(graph), options);
}

} // namespace superstep

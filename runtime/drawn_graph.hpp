// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/runtime/drawing.hpp>

#include <string>
#include <utility>
#include <vector>

namespace superstep::detail {

/// A node of a drawing. Nodes and edges are listed in the order in which they are drawn.
struct drawn_node {
  std::string id;   ///< `outer:inner` in an expanded subgraph
  std::string name; ///< the part of the id after the last colon
  std::vector<std::pair<std::string, std::string>> metadata; ///< shown as `key = value`
  bool is_start = false;                                     ///< START of the outermost graph
  bool is_end = false;
};

/// An edge of a drawing, between the ids of two nodes.
struct drawn_edge {
  std::string source;
  std::string target;
  bool is_conditional = false;
  std::string label; ///< empty unless the edge is conditional
};

struct drawn_graph {
  std::vector<drawn_node> nodes;
  std::vector<drawn_edge> edges;
};

/// Returns the nodes and edges to draw.
/// @param expand how many levels of subgraphs replace their nodes
[[nodiscard]] drawn_graph draw(const program&, std::size_t expand);

/// Returns the part of a node's id before its last colon, which is the id of the subgraph that
/// contains the node; empty if the id has no colon.
[[nodiscard]] std::string_view cluster_of(std::string_view id) noexcept;

} // namespace superstep::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/runtime/drawing.hpp>

#include <string>
#include <utility>
#include <vector>

namespace superstep::detail {

/// What the drawings have in common: nodes and edges by id, in the order in which they are drawn.
struct drawn_node {
  std::string id;   ///< `outer:inner` in an expanded subgraph
  std::string name; ///< without what stands before the last colon
  std::vector<std::pair<std::string, std::string>> metadata; ///< shown as `key = value`
  bool is_start = false;                                     ///< of the outermost graph
  bool is_end = false;
};

struct drawn_edge {
  std::string source;
  std::string target;
  bool is_conditional = false;
  std::string label; ///< only conditional edges have one
};

struct drawn_graph {
  std::vector<drawn_node> nodes;
  std::vector<drawn_edge> edges;
};

[[nodiscard]] drawn_graph draw(const program&, std::size_t expand);

/// The part of an id before its last colon: the subgraph that it lies in; empty: none.
[[nodiscard]] std::string_view cluster_of(std::string_view id) noexcept;

} // namespace superstep::detail

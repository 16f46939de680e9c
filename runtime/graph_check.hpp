// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/runtime/detail/program.hpp>

#include <vector>

namespace superstep::detail {

/// What is suspicious about a graph without faults: nodes that nothing leads to from START, nodes
/// that never lead to END and, with `lint`, nodes that single edges of unequal depth feed.
/// Linear in nodes and edges. What a router or a Command without declared targets may choose is not
/// known, so such a graph gets the benefit of the doubt.
[[nodiscard]] std::vector<fault> find_warnings(const program&, bool lint);

/// Returns a fault for each value that the checkpointer of a graph could not save: channels and
/// inputs of Sends whose type has no stored form, those of subgraphs included. Empty if the graph
/// has no checkpointer, or one that keeps values as they are.
[[nodiscard]] std::vector<fault> find_unstorable(const program&);

} // namespace superstep::detail

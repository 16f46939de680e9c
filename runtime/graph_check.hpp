// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/runtime/detail/program.hpp>

#include <vector>

namespace superstep::detail {

/// Returns the warnings of a graph without faults: nodes that are unreachable from START, nodes
/// that cannot reach END and, with `lint`, nodes that are fed by single edges of unequal depth.
/// Linear in nodes and edges. The targets of a router or Command that declares none are unknown, so
/// a graph with one gets no warnings about reachability.
[[nodiscard]] std::vector<fault> find_warnings(const program&, bool lint);

/// Returns a fault for each value that the checkpointer of a graph could not save: channels and
/// inputs of Sends whose type has no stored form, those of subgraphs included. Empty if the graph
/// has no checkpointer, or one that keeps values as they are.
[[nodiscard]] std::vector<fault> find_unstorable(const program&);

} // namespace superstep::detail

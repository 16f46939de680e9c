// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/runtime/detail/program.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace superstep::detail {

/// Returns warnings about suspicious nodes of a graph without faults: nodes that START does not
/// lead to, nodes that do not lead to END and, with `lint`, nodes that plain edges reach in
/// different steps. A router or command without declared targets may lead to any node. If a run may
/// reach one, no node is reported as unreachable. Linear in nodes and edges.
[[nodiscard]] std::vector<fault> find_warnings(const program&, bool lint);

/// Returns a fault for each type that the graph's checkpointer cannot save because it has no stored
/// form: types of channels and of Send inputs, also in subgraphs that save checkpoints. Empty if
/// the graph has no checkpointer, or a checkpointer that keeps values in memory.
[[nodiscard]] std::vector<fault> find_unstorable(const program&);

/// Returns the name of the node that is the error handler of a node, or of all nodes without one if
/// the name is empty.
[[nodiscard]] std::string handler_name(const std::string& node);

/// Returns the text of the fault that START is one of several sources of an edge.
[[nodiscard]] std::string start_in_join(std::string_view target);

} // namespace superstep::detail

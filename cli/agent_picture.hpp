// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/agent_file.hpp>
#include <superstep/runtime/detail/program.hpp>

namespace superstep::cli {

/// Returns the graph of an agent for a drawing. It cannot be run. Each sub-agent is a node,
/// connected to the node of the tools.
/// @param expand whether the node of a sub-agent shows the sub-agent's own graph
[[nodiscard]] detail::program_ptr picture_of(const agent&, bool expand);

} // namespace superstep::cli

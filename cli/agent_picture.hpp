// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/agent_file.hpp>
#include <superstep/runtime/detail/program.hpp>

namespace superstep::cli {

/// Returns the graph of an agent for drawing; it must not be run. Sub-agents are nodes beside its
/// tools.
/// @param expand whether sub-agents are drawn as graphs
[[nodiscard]] detail::program_ptr picture_of(const agent&, bool expand);

} // namespace superstep::cli

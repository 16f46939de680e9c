// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/agent_file.hpp>
#include <superstep/runtime/detail/program.hpp>

namespace superstep::cli {

/// The graph of an agent, to be drawn and not to be run: agents that it calls as tools are nodes
/// beside its tools.
/// @param expand these are graphs in their turn
[[nodiscard]] detail::program_ptr picture_of(const agent&, bool expand);

} // namespace superstep::cli

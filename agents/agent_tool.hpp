// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/agent_file.hpp>
#include <superstep/agents/agent_options.hpp>
#include <superstep/tools/tool.hpp>

namespace superstep::detail {

/// Makes an agent a tool of another agent. The calling model passes a request as text. The result
/// is the inner agent's structured response or its last message. The inner run is a subgraph of the
/// calling run, so its interrupts and checkpoints belong to that run.
[[nodiscard]] tool_ptr make_agent_tool(const sub_agent_options& options,
                                       const compiled_graph<chat_state>& agent);

} // namespace superstep::detail

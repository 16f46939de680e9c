// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/agent_file.hpp>
#include <superstep/agents/agent_options.hpp>
#include <superstep/tools/tool.hpp>

namespace superstep::detail {

/// Makes an agent a tool of another agent. The model passes a request in words; the result is the
/// agent's structured response or its last message. The agent runs below the task of the call, so
/// its interrupts and checkpoints are part of that run.
[[nodiscard]] tool_ptr make_agent_tool(const sub_agent_options& options,
                                       const compiled_graph<chat_state>& agent);

} // namespace superstep::detail

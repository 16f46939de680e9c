// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/agent_file.hpp>
#include <superstep/agents/agent_options.hpp>
#include <superstep/tools/tool.hpp>

namespace superstep::detail {

/// An agent as a tool of another one: the model says in words what it is to do, and what it says
/// last, or its structured response, is the result. It runs below the task of the call, so its
/// questions, checkpoints and end are part of that run.
[[nodiscard]] tool_ptr make_agent_tool(const sub_agent_options& options,
                                       const compiled_graph<chat_state>& agent);

} // namespace superstep::detail

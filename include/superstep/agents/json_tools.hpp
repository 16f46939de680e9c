// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/json_step.hpp>
#include <superstep/messages/message.hpp>
#include <superstep/tools/tool_node.hpp>

#include <string_view>
#include <vector>

namespace superstep {

/// Makes a tool node for a JSON graph: `g.add("tools", json_tools_step(tools))`.
///
/// It runs the calls of the model's latest answer, the one call of a Send that json_tool_call()
/// made, or the calls that a Send carries as a list `[{type: tool_call, name, args, id}]`. Tools
/// with injected arguments read the channels of the graph. The resulting messages and commands
/// become the node's update and its next nodes.
/// Source: `ToolNode` in LangGraph 1.2.22, prebuilt/tool_node.py.
[[nodiscard]] json_step json_tools_step(tool_node tools);
/// Returns the output of a tool node that was stopped, for json_node_options::on_failure: the
/// answer to a single call that was stopped or took too long, or to all its calls if the run was
/// cancelled. nullopt for other failures.
/// @param given the input of the activation
[[nodiscard]] std::optional<json_command>
answer_stopped_tools(const tool_node& tools, const json::value& given, const run_error& why);

/// Returns the input of a Send to such a node: one call and the state that it was made in.
[[nodiscard]] json::value json_tool_call(const tool_call& call, const json::value& state);

/// Returns the tool calls of the last message if it is an AI message, else an empty list.
[[nodiscard]] std::vector<tool_call> calls_of_last(const json::value& state,
                                                   std::string_view messages_key = "messages");

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/json_step.hpp>
#include <superstep/messages/message.hpp>
#include <superstep/tools/tool_node.hpp>

#include <string_view>
#include <vector>

namespace superstep {

/// A tool node as a node of a JSON graph: `g.add("tools", json_tools_step(tools))`. It runs the
/// calls of the latest answer of a model, the one call of a Send that json_tool_call() made, or the
/// calls that a Send carries as a plain list, `[{type: tool_call, name, args, id}]`; their tools
/// read the channels of the graph. The messages and commands that come of them are the node's update and where it goes.
[[nodiscard]] json_step json_tools_step(tool_node tools);
/// What such a node gives when it is stopped (json_node_options::on_failure): an answer to a call
/// whose actor was told to exit or that took too long, and to all its calls when the run is
/// cancelled.
[[nodiscard]] std::optional<json_command>
answer_stopped_tools(const tool_node& tools, const json::value& given, const run_error& why);

/// What a Send to such a node carries: one call and the state that it was made in.
[[nodiscard]] json::value json_tool_call(const tool_call& call, const json::value& state);

/// The calls of the last message, when it is an answer of a model.
[[nodiscard]] std::vector<tool_call> calls_of_last(const json::value& state,
                                                   std::string_view messages_key = "messages");

} // namespace superstep

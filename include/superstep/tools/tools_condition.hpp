// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>
#include <superstep/base/result.hpp>
#include <superstep/messages/message_list.hpp>

#include <string_view>

namespace superstep {

/// Returns the node that follows the model in an agent: "tools" if the last message contains tool
/// calls, otherwise "__end__". An error if there are no messages.
/// Source: `tools_condition` in LangGraph 1.2.22, prebuilt/tool_node.py.
[[nodiscard]] result<std::string_view> tools_condition(const message_list& messages);

/// Returns the node that follows the model, for a JSON state.
/// @param messages_key the key of the messages
[[nodiscard]] result<std::string_view> tools_condition(const json::object& state,
                                                       std::string_view messages_key = "messages");

} // namespace superstep

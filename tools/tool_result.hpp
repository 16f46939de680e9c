// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/tools/tool_node.hpp>

#include <string_view>
#include <vector>

namespace superstep::detail {

/// Converts a tool's reply to items, and checks its commands. Tool messages in commands that answer
/// the call get the tool's name. Throws tool_value_error if a command does not fit the form of the
/// input, or if there is not exactly one answer where one is required.
[[nodiscard]] std::vector<tool_item> checked(tool_reply reply, const tool_call& call,
                                             tool_input_form form, std::string_view messages_key);

/// Combines the answers of all calls to the output of the node.
[[nodiscard]] tool_node_output combine(std::vector<tool_answer> answers, tool_input_form form);

} // namespace superstep::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/tools/tool_node.hpp>

#include <string_view>
#include <vector>

namespace superstep::detail {

/// What a tool handed back as items, once its commands have been checked; answers to the call that
/// stand in commands get the tool's name. Throws tool_value_error in the reference's words.
[[nodiscard]] std::vector<tool_item> checked(tool_reply reply, const tool_call& call,
                                             tool_input_form form, std::string_view messages_key);

/// The answers of all calls as one result.
[[nodiscard]] tool_node_output combine(std::vector<tool_answer> answers, tool_input_form form);

} // namespace superstep::detail

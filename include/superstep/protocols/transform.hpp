// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/protocols/tool_protocol.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace superstep {

/// Sample calls of the tools that have some, as a section of the system text; empty: none has.
[[nodiscard]] std::string example_section(const tool_protocol& protocol,
                                          const std::vector<protocol_tool>& tools);

/// What a tool result `{type, value}` of a conversation says, as one JSON value.
[[nodiscard]] json::value tool_result_value(const json::object& output);

/// A conversation for a model that knows no tools: calls and results become text in the words of
/// the protocol, and `tools_prompt` is added to the system text.
///
/// Messages are `{role, content}` with lists of typed parts, as in the AI SDK.
/// @param tools_prompt the protocol's prompt, or one's own; empty: nothing is added
[[nodiscard]] json::array transform_prompt(const tool_protocol& protocol, json::array messages,
                                           std::string_view tools_prompt,
                                           const protocol_error_handler& on_error);

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>
#include <superstep/protocols/tool_protocol.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace superstep {

// The steps of make_protocol_middleware(), for programs that need only one of them. They follow the
// tool middleware of the AI SDK (npm package @ai-sdk-tool/parser).

/// Returns a section of the system text with sample calls of the tools that have examples. Empty if
/// no tool has one.
[[nodiscard]] std::string example_section(const tool_protocol& protocol,
                                          const std::vector<protocol_tool>& tools);

/// Converts a tool result `{type, value}` of a conversation to one JSON value.
[[nodiscard]] json::value tool_result_value(const json::object& output);

/// Converts a conversation for a model without native tool calls: calls and results become text in
/// the form of the protocol, and `tools_prompt` is added to the system text.
/// @param messages `{role, content}` with lists of typed parts, as in the AI SDK
/// @param tools_prompt the protocol's prompt or another one; empty adds nothing
/// @param on_error called for each part that cannot be written as text
[[nodiscard]] json::array transform_prompt(const tool_protocol& protocol, json::array messages,
                                           std::string_view tools_prompt,
                                           const protocol_error_handler& on_error);

/// Returns the texts and calls of a complete answer. If the protocol finds no call, a call that the
/// model wrote as plain JSON is looked for. Arguments are coerced to the schema of their tool.
[[nodiscard]] std::vector<parsed_part> parse_answer(const tool_protocol& protocol,
                                                    std::string_view text,
                                                    const std::vector<protocol_tool>& tools,
                                                    const protocol_error_handler& on_error);

/// Returns the response format `{type: json, schema, …}` that makes a model call a tool. Null if
/// the choice leaves the decision to the model.
/// @param choice `{type: auto | none | required | tool, toolName?}`
/// @returns `errc::invalid_argument` for a choice that no answer could satisfy
[[nodiscard]] result<json::value> forced_response_format(const std::vector<protocol_tool>& tools,
                                                         const json::object& choice);

/// Returns the call in an answer that was requested with forced_response_format(). Always returns a
/// call, because a forced choice has no other outcome; faults are reported to `on_error`.
[[nodiscard]] parsed_call parse_forced_call(std::string_view text,
                                            const std::vector<protocol_tool>& tools,
                                            const protocol_error_handler& on_error);

/// Converts a value to the type of its JSON Schema where the intention is clear: "5" to a number,
/// one item to a list, the key `snake_case` to `camelCase`. Other values are returned unchanged.
/// Never fails and never drops a member.
/// @param schema null if the tool declared none
[[nodiscard]] json::value coerce(json::value v, const json::value& schema);

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>
#include <superstep/protocols/tool_protocol.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace superstep {

// The single steps of make_protocol_middleware(), for programs that need only one of the steps.
// They follow the tool middleware of the AI SDK (npm package @ai-sdk-tool/parser 4.1.26). All
// functions may be called by any thread.

/// Returns a section for the system text with the sample calls of all tools, in the format of the
/// protocol. Empty if no tool has examples.
[[nodiscard]] std::string example_section(const tool_protocol& protocol,
                                          const std::vector<protocol_tool>& tools);

/// Converts a tool result of the AI SDK to one JSON value.
/// @param output `{type, value}`, where `type` is text, json, content, error-text, error-json or
/// execution-denied
/// @return the value itself; a text such as `[Error: …]` for the last three types; for `content`, a
/// text with placeholders such as `[Image: image/png]`
[[nodiscard]] json::value tool_result_value(const json::object& output);

/// Converts a conversation of the AI SDK for a model without native tool calls. Calls and results
/// become text in the format of the protocol. Adjacent user messages are merged.
/// @param messages a list of `{role, content}`, where `content` is text or a list of typed parts
/// @param tools_prompt text to add to the system message, usually tool_protocol::prompt(); if
/// empty, nothing is added
/// @param on_error receives each part that has no text form; may be null
/// @return the converted messages, in the same form
[[nodiscard]] json::array transform_prompt(const tool_protocol& protocol, json::array messages,
                                           std::string_view tools_prompt,
                                           const protocol_error_handler& on_error);

/// Parses a complete answer with tool_protocol::parse(). If the protocol finds no call, the first
/// call that the model wrote as plain JSON is used. The arguments of all calls are then converted
/// by coerce().
/// @param on_error receives each call that cannot be parsed; may be null
/// @return the texts and calls, in order
[[nodiscard]] std::vector<parsed_part> parse_answer(const tool_protocol& protocol,
                                                    std::string_view text,
                                                    const std::vector<protocol_tool>& tools,
                                                    const protocol_error_handler& on_error);

/// Returns the response format that forces a model to call a tool.
/// @param choice `{type: auto}`, `{type: required}`, or `{type: tool, toolName}` for a certain tool
/// @return `{type: json, schema, …}` for the types required and tool; null for auto;
/// `errc::invalid_argument` for other types, an unknown tool, or required without tools
[[nodiscard]] result<json::value> forced_response_format(const std::vector<protocol_tool>& tools,
                                                         const json::object& choice);

/// Parses an answer that was requested with forced_response_format(). A call is returned even if
/// the answer is invalid: its name is then `unknown` or its arguments are `{}`. A missing name or
/// missing arguments are not reported as a fault.
/// @param text the answer: JSON with `name` and `arguments`
/// @param on_error receives the fault if the answer or its arguments are not a JSON object; may be
/// null
[[nodiscard]] parsed_call parse_forced_call(std::string_view text,
                                            const std::vector<protocol_tool>& tools,
                                            const protocol_error_handler& on_error);

/// Converts a value to the type of its JSON Schema where the intention of the model is clear: "5"
/// to a number, a single item to a list, the key `snake_case` to `camelCase`. Other values are
/// returned unchanged. Never fails and never drops a member.
/// @param v the arguments of a call, or any other value
/// @param schema a JSON Schema; null if the tool declared none
[[nodiscard]] json::value coerce(json::value v, const json::value& schema);

} // namespace superstep

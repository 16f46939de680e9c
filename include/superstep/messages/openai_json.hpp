// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>
#include <superstep/base/result.hpp>
#include <superstep/messages/message_list.hpp>
#include <superstep/messages/tool_definition.hpp>

#include <string>
#include <string_view>
#include <variant>

namespace superstep {

/// A message as a chat-completions server reads it: role, content, name, tool_calls, tool_call_id.
/// Calls whose arguments could not be parsed are sent with the text the model wrote, so that it
/// sees what the error message is about. Reasoning and tool blocks of other providers are left out.
[[nodiscard]] json::value to_openai(const message&);
/// The same as text.
void append_openai(std::string& out, const message&);
/// `{"type": "function", "function": {name, description, parameters}}`
[[nodiscard]] json::value to_openai(const tool_definition&);
/// The same as text, without building the tree.
void append_openai(std::string& out, const tool_definition&);

/// Reads the `message` of a chat-completion answer. Null content becomes "". The arguments of calls
/// are parsed by parse_tool_call(). `refusal`, `audio` and `function_call` are kept in
/// additional_kwargs.
[[nodiscard]] result<message> from_openai(const json::object& assistant_message);

/// Reads the argument text of a call, as a model wrote it: empty text is no arguments, raw line
/// breaks inside strings are allowed, and what is no JSON object makes an invalid_tool_call.
[[nodiscard]] std::variant<tool_call, invalid_tool_call>
parse_tool_call(std::string id, std::string name, std::string_view arguments);

} // namespace superstep

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

/// Reads the argument text of a call that a model has finished. Empty text and `null` mean that
/// there are no arguments. Strings may hold raw line breaks, and of a key that appears twice the
/// last value counts. Everything else that is not one whole JSON object makes an invalid_tool_call
/// with the reason and the byte: text that was cut off, several objects in a row, a list, an
/// integer that does not fit 64 bits.
/// @param cut why the model could not write to the end, e.g. "the answer was cut (length)"; empty
/// if it could. Empty text then makes an invalid call, too.
[[nodiscard]] std::variant<tool_call, invalid_tool_call>
parse_tool_call(std::string id, std::string name, std::string_view arguments,
                std::string_view cut = {});

/// Adds a call that was read to an ai message.
void add_call(message& to, std::variant<tool_call, invalid_tool_call> call);

} // namespace superstep

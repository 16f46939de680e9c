// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>
#include <superstep/base/json.hpp>
#include <superstep/messages/messages.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace superstep {

/// Whether it is known that no object of a JSON text has a key twice.
enum class json_keys : std::uint8_t { unchecked, unique };

/// Converts a message to the chat-completions form: role, content, name, tool_calls, tool_call_id.
/// The arguments of an invalid tool call are sent as the text that the model wrote, so that the
/// model can relate the error message to it. Reasoning and tool blocks of other providers are left
/// out.
///
/// Source: https://platform.openai.com/docs/api-reference/chat/create
[[nodiscard]] json::value to_openai(const message&);
/// Appends the JSON text of to_openai(message).
void append_openai(std::string& out, const message&);
/// Returns `{"type": "function", "function": {name, description, parameters}}`.
[[nodiscard]] json::value to_openai(const tool_definition&);
/// Appends the JSON text of to_openai(tool_definition) without building a tree.
void append_openai(std::string& out, const tool_definition&);

/// Parses the JSON text of an assistant message in chat-completions form. Null content becomes "".
/// Tool calls are parsed by parse_tool_call(). `refusal`, `audio` and `function_call` are kept in
/// additional_kwargs.
///
/// @param spare number of readable bytes after the text; see parse_padded_json()
/// @param keys `unique` if an earlier call has accepted the text, so that no object has a key twice
/// @return the error of parse_json(), or an error with the path of a member that has the wrong type
///
/// Source: https://platform.openai.com/docs/api-reference/chat/object
[[nodiscard]] result<message> from_openai(std::string_view text, std::size_t spare = 0,
                                          json_keys keys = json_keys::unchecked);

/// Parses the argument text of a complete tool call. Empty text and `null` mean no arguments.
/// Unlike JSON, strings may contain raw line breaks, and of duplicate keys the last value counts.
/// Any other text that is not one JSON object makes an invalid_tool_call with the reason and the
/// byte offset: truncated text, several objects in a row, a list, an integer that does not fit in
/// 64 bits.
///
/// @param cut why generation stopped early, e.g. "the answer was cut (length)"; empty if the model
/// finished. In a truncated answer, empty text makes an invalid call too.
[[nodiscard]] std::variant<tool_call, invalid_tool_call> parse_tool_call(std::string id,
                                                                         std::string name,
                                                                         std::string_view arguments,
                                                                         std::string_view cut = {});

/// Adds the result of parse_tool_call() to an ai message.
void add_call(message& to, std::variant<tool_call, invalid_tool_call> call);

} // namespace superstep

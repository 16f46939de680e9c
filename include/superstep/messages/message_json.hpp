// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>
#include <superstep/base/result.hpp>
#include <superstep/messages/message_list.hpp>

#include <string>
#include <string_view>

namespace superstep {

/// Returns the name of a message type in JSON: human, ai, system, tool, remove, chat or function.
[[nodiscard]] std::string_view to_string(message_type) noexcept;

/// Returns the JSON form of a message, used for storage and output. Always present: `type` and
/// `content` (text or a list of blocks); for a chat message also `role`. Present if not empty:
/// `name`, `id`, `tool_calls` [{name, args, id, type: "tool_call"}], `invalid_tool_calls` [{name,
/// args, id, error, type: "invalid_tool_call"}], `usage_metadata`, `tool_call_id`, `status` (only
/// "error"), `artifact`, `additional_kwargs`, `response_metadata`.
[[nodiscard]] json::object to_json(const message&);
/// Appends the text of to_json(), several times faster because it builds no tree.
void append_json(std::string& out, const message&);
/// Appends a conversation as a JSON list of messages.
void append_json(std::string& out, const message_list&);

/// Reads one message in any of the usual forms: the form of to_json(); a chat-completions message
/// (`role`, `content`, `tool_calls` with `function.arguments` as text, `tool_call_id`); a pair
/// `[role, content]`; or a string, which becomes a human message.
///
/// Roles: user and human, assistant and ai, system, developer (a system message whose role is kept
/// in additional_kwargs.__openai_role__), tool, function, remove. Unknown members go to
/// additional_kwargs. Chat-completions calls that appear only in additional_kwargs.tool_calls are
/// parsed into `tool_calls`.
///
/// @param path the prefix of the location in error texts, e.g. `messages[2]`
/// @return an error with the path of the first invalid member
/// Source: `convert_to_messages` in langchain-core 1.7.2, messages/utils.py.
[[nodiscard]] result<message> message_from_json(const json::value&,
                                                std::string_view path = "message");
/// Reads a list of messages, or one message that is not in a list. Errors as for
/// message_from_json().
[[nodiscard]] result<message_list> messages_from_json(const json::value&,
                                                      std::string_view path = "messages");

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>
#include <superstep/base/result.hpp>
#include <superstep/messages/message_list.hpp>

#include <string>
#include <string_view>

namespace superstep {

/// The name of a type in the written form: human, ai, system, tool, remove, chat, function.
[[nodiscard]] std::string_view to_string(message_type) noexcept;

/// The message form, in which messages are kept and written: `type` and `content` (text or list of
/// blocks) always; `name`, `id`, `tool_calls` [{name, args, id, type: "tool_call"}],
/// `invalid_tool_calls` [{name, args, id, error, type: "invalid_tool_call"}], `usage_metadata`,
/// `tool_call_id`, `status` (only "error"), `artifact`, `additional_kwargs`, `response_metadata`
/// where they hold something; `role` of a chat message.
[[nodiscard]] json::object to_json(const message&);
/// The same as text, without building the tree: several times faster.
void append_json(std::string& out, const message&);
/// `[` message `,` message … `]`
void append_json(std::string& out, const message_list&);

/// Reads one message in any form people write: the message form, the form of chat-completion
/// servers (`role`, `content`, `tool_calls` with `function.arguments` as text, `tool_call_id`),
/// a pair `[role, content]`, or a bare string, which is a human message.
///
/// Roles: user and human, assistant and ai, system, developer (a system message that keeps its role
/// in additional_kwargs.__openai_role__), tool, function, remove. Unknown members go to
/// additional_kwargs; calls that stand there only, in the form of chat-completion servers, are
/// read. An error names the place as a path that starts with `path`.
[[nodiscard]] result<message> message_from_json(const json::value&,
                                                std::string_view path = "message");
/// Reads a list of messages, or one message that is not in a list.
[[nodiscard]] result<message_list> messages_from_json(const json::value&,
                                                      std::string_view path = "messages");

} // namespace superstep

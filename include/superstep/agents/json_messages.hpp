// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/clock.hpp>
#include <superstep/base/json.hpp>
#include <superstep/messages/messages.hpp>

#include <string_view>

namespace superstep {

/// The reducer add_messages for a channel of a json_graph: `g.channel("messages",
/// add_json_messages, json::array{})`.
///
/// @param into the channel's value, an array in the message form
/// @param more one message or a list, in any form that messages_from_json() reads
/// @param ids generates the ids of messages without one
/// @throws std::invalid_argument if `more` is not a message or list of messages; also what
/// add_messages throws
/// Source: `add_messages` in LangGraph 1.2.22, graph/message.py.
void add_json_messages(json::value& into, json::value&& more, id_source& ids);

/// Returns the messages of a JSON state; an empty list if it has no such key.
/// @throws std::invalid_argument if the value is not a list of messages
[[nodiscard]] message_list messages_of(const json::value& state, std::string_view key = "messages");

/// Converts messages to JSON, in the message form.
[[nodiscard]] json::array to_json_list(const message_list& messages);

} // namespace superstep

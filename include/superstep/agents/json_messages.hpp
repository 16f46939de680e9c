// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/clock.hpp>
#include <superstep/base/json.hpp>
#include <superstep/messages/messages.hpp>

#include <string_view>

namespace superstep {

/// Merges messages into a channel of a json_graph, by the rules of the reducer add_messages:
/// `g.channel("messages", add_json_messages, json::array{})`. May be called from any thread.
///
/// @param into the channel's value, an array in the form of message_json.hpp; unchanged on an error
/// @param more one message or a list, in any form that messages_from_json() reads
/// @param ids generates the ids of messages without one
/// @throws std::invalid_argument if `more` is not a message or a list of messages
/// @throws whatever add_messages throws, for example for the removal of an unknown id
///
/// Source: `add_messages` in LangGraph 1.2.22, graph/message.py.
void add_json_messages(json::value& into, json::value&& more, id_source& ids);

/// Returns the messages of a JSON state; an empty list if the key is missing or null. May be called
/// from any thread.
/// @param state an object; any other value counts as a state without keys
/// @param key the key of the messages
/// @throws std::invalid_argument if the value is not a list of messages
[[nodiscard]] message_list messages_of(const json::value& state, std::string_view key = "messages");

/// Converts messages to a JSON array, in the form of message_json.hpp. May be called from any
/// thread.
[[nodiscard]] json::array to_json_list(const message_list& messages);

} // namespace superstep

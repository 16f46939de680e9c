// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/clock.hpp>
#include <superstep/base/json.hpp>
#include <superstep/messages/messages.hpp>

#include <string_view>

namespace superstep {

/// add_messages for a channel of a json_graph: `g.channel("messages", add_json_messages,
/// json::array{})`. What is written may be one message or a list, in any form that
/// messages_from_json() reads; the channel holds the message form.
///
/// Throws std::invalid_argument for what is no message, and as add_messages does.
void add_json_messages(json::value& into, json::value&& more, id_source& ids);

/// The messages of a state of JSON channels; none when it has no such key.
/// Throws std::invalid_argument for what is no list of messages.
[[nodiscard]] message_list messages_of(const json::value& state, std::string_view key = "messages");

/// A list of messages in the message form.
[[nodiscard]] json::array to_json_list(const message_list& messages);

} // namespace superstep

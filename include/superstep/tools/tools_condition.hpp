// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>
#include <superstep/base/result.hpp>
#include <superstep/messages/message_list.hpp>

#include <string_view>

namespace superstep {

/// Where an agent goes after an answer of its model: to the node "tools" when the last message
/// calls some, else to the end ("__end__"). An error when there are no messages.
[[nodiscard]] result<std::string_view> tools_condition(const message_list& messages);

/// The same for a state of JSON channels, whose messages are under that key.
[[nodiscard]] result<std::string_view> tools_condition(const json::object& state,
                                                       std::string_view messages_key = "messages");

} // namespace superstep

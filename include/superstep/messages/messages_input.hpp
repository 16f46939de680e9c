// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/messages/message_list.hpp>

#include <string_view>
#include <type_traits>
#include <vector>

namespace superstep {

/// Converts a caller's text to the input of a graph with the field `messages`: one human message.
/// The engine finds these functions by argument-dependent lookup.
[[nodiscard]] message_list messages_input(std::type_identity<message_list>, std::string_view text);
/// Converts a message, or several, to the input of a graph with the field `messages`.
[[nodiscard]] message_list messages_input(std::type_identity<message_list>, message one);
[[nodiscard]] message_list messages_input(std::type_identity<message_list>, message_list all);
[[nodiscard]] message_list messages_input(std::type_identity<message_list>,
                                          std::vector<message> all);

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/messages/message_list.hpp>

#include <string_view>
#include <type_traits>
#include <vector>

namespace superstep {

/// The messages that a caller's text is as the input of a graph: one human message. The run verbs
/// of the engine look for these functions for states with the field `messages`.
[[nodiscard]] message_list messages_input(std::type_identity<message_list>, std::string_view text);
/// The messages that a caller's messages are as the input of a graph.
[[nodiscard]] message_list messages_input(std::type_identity<message_list>, message one);
[[nodiscard]] message_list messages_input(std::type_identity<message_list>, message_list all);
[[nodiscard]] message_list messages_input(std::type_identity<message_list>,
                                          std::vector<message> all);

} // namespace superstep

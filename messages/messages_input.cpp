// SPDX-License-Identifier: Apache-2.0
// Converts a text or messages to the input of a graph whose state contains a conversation.
#include <superstep/messages/messages.hpp>

#include <string>
#include <utility>

namespace superstep {

message_list messages_input(std::type_identity<message_list> list, std::string_view text) {
  return messages_input(list, human_message(std::string{text}));
}

message_list messages_input(std::type_identity<message_list>, message one) {
  auto all = message_list{};
  all.push_back(std::move(one));
  return all;
}

message_list messages_input(std::type_identity<message_list>, message_list all) {
  return all;
}

message_list messages_input(std::type_identity<message_list>, std::vector<message> all) {
  return message_list{std::move(all)};
}

} // namespace superstep

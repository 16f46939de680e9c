// SPDX-License-Identifier: Apache-2.0
// Functions that create messages, and text_of().
#include <superstep/messages/messages.hpp>

#include <utility>

namespace superstep {

namespace {

/// Sets the members that all factories have in common.
message text_message(message_type type, std::string text) {
  auto m = message{};
  m.type = type;
  m.content = std::move(text);
  return m;
}

} // namespace

message human_message(std::string text) {
  return text_message(message_type::human, std::move(text));
}

message ai_message(std::string text, std::vector<tool_call> calls) {
  auto m = text_message(message_type::ai, std::move(text));
  m.tool_calls = std::move(calls);
  return m;
}

message system_message(std::string text) {
  return text_message(message_type::system, std::move(text));
}

message tool_message(std::string text, std::string tool_call_id, std::string name) {
  auto m = text_message(message_type::tool, std::move(text));
  m.tool_call_id = std::move(tool_call_id);
  m.name = std::move(name);
  return m;
}

message remove_message(std::string id) {
  auto m = message{};
  m.type = message_type::remove;
  m.id = std::move(id);
  return m;
}

std::string text_of(const message& m) {
  if (!m.blocks)
    return m.content;
  auto text = std::string{};
  for (const auto& block : *m.blocks) {
    const auto* part = block.if_string();
    if (const auto* object = block.if_object()) {
      const auto* type = object->if_contains("type");
      if (type && type->is_string() && type->get_string() == "text")
        if (const auto* inner = object->if_contains("text"))
          part = inner->if_string();
    }
    if (part)
      text.append(part->data(), part->size());
  }
  return text;
}

} // namespace superstep

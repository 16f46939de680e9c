// SPDX-License-Identifier: Apache-2.0
// The text of effect records: converts a tool's result to JSON text and back. effects.cpp uses it
// for idempotent() and journaled(). The checkpointer stores the records beside the checkpoints of
// the thread.
#include "effect_text.hpp"

#include "base/utf8.hpp"

#include <superstep/messages/message_json.hpp>

#include <stdexcept>
#include <type_traits>
#include <utility>

namespace superstep::detail {

namespace {

json::array written_messages(const std::vector<message>& messages) {
  auto out = json::array{};
  for (const auto& m : messages)
    out.emplace_back(to_json(m));
  return out;
}

json::object written_target(const tool_target& to) {
  auto out = json::object{{"node", to.node}};
  if (to.input)
    out["input"] = *to.input;
  return out;
}

json::object written_command(const tool_command& command) {
  auto out = json::object{};
  if (command.to_parent)
    out["parent"] = true;
  if (const auto* update = std::get_if<tool_update>(&command.update)) {
    out["fields"] = update->fields;
    if (update->messages)
      out["messages"] = written_messages(*update->messages);
    if (update->messages && update->messages_at < update->fields.size())
      out["messages_at"] = update->messages_at;
  } else if (const auto* messages = std::get_if<std::vector<message>>(&command.update)) {
    out["list"] = written_messages(*messages);
  }
  if (const auto* one = std::get_if<tool_target>(&command.go_to)) {
    out["goto"] = written_target(*one);
  } else if (const auto* all = std::get_if<std::vector<tool_target>>(&command.go_to)) {
    auto list = json::array{};
    for (const auto& to : *all)
      list.emplace_back(written_target(to));
    out["goto"] = std::move(list);
  }
  return out;
}

json::object written_item(const tool_item& item) {
  if (const auto* m = std::get_if<message>(&item))
    return {{"message", to_json(*m)}};
  return {{"command", written_command(std::get<tool_command>(item))}};
}

[[noreturn]] void throw_damaged() {
  throw std::runtime_error{"the stored result is corrupt, or another version of superstep "
                           "has written it"};
}

const json::object& object_of(const json::value& from) {
  if (!from.is_object())
    throw_damaged();
  return from.get_object();
}

std::string text_in(const json::object& from, std::string_view key) {
  const auto* found = from.if_contains(key);
  if (found == nullptr)
    return {};
  if (!found->is_string())
    throw_damaged();
  return std::string{found->get_string()};
}

const json::array* list_in(const json::object& from, std::string_view key) {
  const auto* found = from.if_contains(key);
  if (found != nullptr && !found->is_array())
    throw_damaged();
  return found != nullptr ? &found->get_array() : nullptr;
}

message read_message(const json::value& from) {
  auto m = message_from_json(from);
  if (!m)
    throw_damaged();
  return std::move(*m);
}

std::vector<message> read_messages(const json::array& from) {
  auto out = std::vector<message>{};
  for (const auto& m : from)
    out.push_back(read_message(m));
  return out;
}

tool_target read_target(const json::value& from) {
  const auto& parts = object_of(from);
  auto out = tool_target{text_in(parts, "node")};
  if (const auto* input = parts.if_contains("input"))
    out.input = *input;
  return out;
}

tool_command read_command(const json::value& from) {
  const auto& parts = object_of(from);
  auto out = tool_command{};
  out.to_parent = parts.contains("parent");
  if (const auto* fields = parts.if_contains("fields")) {
    auto update = tool_update{object_of(*fields)};
    if (const auto* messages = list_in(parts, "messages"))
      update.messages = read_messages(*messages);
    if (const auto* at = parts.if_contains("messages_at"); at != nullptr && at->is_number())
      update.messages_at = at->to_number<std::size_t>();
    out.update = std::move(update);
  } else if (const auto* messages = list_in(parts, "list")) {
    out.update = read_messages(*messages);
  }
  const auto* to = parts.if_contains("goto");
  if (to != nullptr && to->is_array()) {
    auto all = std::vector<tool_target>{};
    for (const auto& one : to->get_array())
      all.push_back(read_target(one));
    out.go_to = std::move(all);
  } else if (to != nullptr) {
    out.go_to = read_target(*to);
  }
  return out;
}

tool_item read_item(const json::value& from) {
  const auto& parts = object_of(from);
  if (const auto* m = parts.if_contains("message"))
    return read_message(*m);
  const auto* command = parts.if_contains("command");
  if (command == nullptr)
    throw_damaged();
  return read_command(*command);
}

} // namespace

std::string written_output(const tool_output& from) {
  auto out = json::object{{"content", from.content}};
  if (from.is_error)
    out["error"] = true;
  if (!from.artifact.is_null())
    out["artifact"] = from.artifact;
  if (from.blocks)
    out["blocks"] = *from.blocks;
  if (from.reply) {
    if (const auto* items = std::get_if<std::vector<tool_item>>(&*from.reply)) {
      auto list = json::array{};
      for (const auto& item : *items)
        list.emplace_back(written_item(item));
      out["items"] = std::move(list);
    } else if (const auto* m = std::get_if<message>(&*from.reply)) {
      out["reply"] = written_item(*m);
    } else {
      out["reply"] = written_item(std::get<tool_command>(*from.reply));
    }
  }
  // Text that is not UTF-8 could not be read back, and the result would be lost.
  return valid_utf8(to_text(out));
}

tool_output read_output(std::string_view text) {
  // A result can become a value of the state, so its depth has the limit of such values.
  constexpr auto depth_max = std::size_t{1'000};
  const auto parsed = parse_json(text, {.depth_max = depth_max});
  if (!parsed)
    throw_damaged();
  const auto& parts = object_of(*parsed);
  auto out = tool_output{};
  out.content = text_in(parts, "content");
  out.is_error = parts.contains("error");
  if (const auto* artifact = parts.if_contains("artifact"))
    out.artifact = *artifact;
  if (const auto* blocks = list_in(parts, "blocks"))
    out.blocks = *blocks;
  if (const auto* items = list_in(parts, "items")) {
    auto all = std::vector<tool_item>{};
    for (const auto& item : *items)
      all.push_back(read_item(item));
    out.reply = tool_reply{std::move(all)};
  } else if (const auto* reply = parts.if_contains("reply")) {
    auto item = read_item(*reply);
    out.reply = std::visit([](auto&& one) { return tool_reply{std::move(one)}; }, std::move(item));
  }
  return out;
}

} // namespace superstep::detail

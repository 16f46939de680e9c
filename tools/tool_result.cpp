// SPDX-License-Identifier: Apache-2.0
// Converts the results of tools to the output of a tool node, and checks their commands.
#include "tool_result.hpp"

#include "messages/spaced_json.hpp"

#include <superstep/messages/message_json.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace superstep {

namespace {

constexpr auto block_types = std::array<std::string_view, 8>{
    "text",     "image_url", "image", "json", "search_result", "custom_tool_call_output",
    "document", "file"};

bool is_block(const json::value& item) {
  const auto* members = item.if_object();
  const auto* type = members != nullptr ? members->if_contains("type") : nullptr;
  return type != nullptr && type->is_string() &&
         std::ranges::find(block_types, std::string_view{type->get_string()}) != block_types.end();
}

std::vector<message>* messages_of(tool_command& command) {
  if (auto* list = std::get_if<std::vector<message>>(&command.update))
    return list;
  auto* fields = std::get_if<tool_update>(&command.update);
  return fields != nullptr && fields->messages ? &*fields->messages : nullptr;
}

bool answers(const message& m, const tool_call& call) {
  return m.type == message_type::tool && m.tool_call_id == call.id;
}

std::string displayed_list(const std::vector<message>& messages) {
  auto out = json::array{};
  for (const auto& m : messages)
    out.push_back(to_json(m));
  return to_text(json::value(std::move(out)));
}

std::string displayed_fields(const tool_update& update, std::string_view messages_key) {
  auto shown = update.fields;
  if (update.messages) {
    auto& list = shown[messages_key].emplace_array();
    for (const auto& m : *update.messages)
      list.push_back(to_json(m));
  }
  return to_text(json::value(std::move(shown)));
}

void check_form(const tool_command& command, const tool_call& call, tool_input_form form,
                std::string_view key) {
  if (const auto* fields = std::get_if<tool_update>(&command.update);
      fields != nullptr && form == tool_input_form::list)
    throw tool_value_error{
        "tool '" + call.name +
        "' returned a state update, but the tool node's input is a list of "
        "messages; return messages, or call the node with a state whose messages "
        "are in '" +
        std::string{key} + "'; the update: " + displayed_fields(*fields, key)};
  if (const auto* list = std::get_if<std::vector<message>>(&command.update);
      list != nullptr && form != tool_input_form::list)
    throw tool_value_error{
        "tool '" + call.name +
        "' returned a command with a list of messages, but the tool node's input "
        "is not a list of messages; return a tool_update; the messages: " +
        displayed_list(*list)};
}

[[noreturn]] void throw_no_answer(const std::vector<message>* messages, const tool_call& call,
                                  tool_input_form form) {
  const auto* where =
      form == tool_input_form::state ? "tool_update::messages" : "the command's messages";
  throw tool_value_error{
      "tool '" + call.name +
      "' returned a command without a message that answers its call; add "
      "tool_message(text, call.id) to " +
      where + "; the messages: " + (messages != nullptr ? displayed_list(*messages) : "[]")};
}

/// Checks one command, and names the tool messages that answer the call.
/// @param needs_answer whether the command must contain an answer to the call
void check_command(tool_command& command, const tool_call& call, tool_input_form form,
                   std::string_view key, bool needs_answer) {
  check_form(command, call, form, key);
  if (std::holds_alternative<std::monostate>(command.update))
    return;
  auto* messages = messages_of(command);
  if (messages != nullptr && messages->size() == 1 &&
      messages->front().type == message_type::remove && messages->front().id == remove_all_messages)
    return;
  auto has_answer = false;
  if (messages != nullptr)
    for (auto& m : *messages)
      if (answers(m, call)) {
        m.name = call.name;
        has_answer = true;
      }
  if (needs_answer && !has_answer && !command.to_parent)
    throw_no_answer(messages, call, form);
}

std::size_t count_answers(std::vector<tool_item>& items, const tool_call& call) {
  auto count = std::ptrdiff_t{0};
  const auto is_answer = [&](const message& m) { return answers(m, call); };
  for (auto& item : items) {
    if (auto* m = std::get_if<message>(&item)) {
      count += is_answer(*m) ? 1 : 0;
      continue;
    }
    auto& command = std::get<tool_command>(item);
    if (auto* fields = std::get_if<tool_update>(&command.update); fields && fields->messages)
      count += std::ranges::count_if(*fields->messages, is_answer);
  }
  return static_cast<std::size_t>(count);
}

/// Returns the Sends of a command to the parent; null if the command has other destinations or is
/// not for the parent.
std::vector<tool_target>* sends_to_parent(tool_item& item) {
  auto* command = std::get_if<tool_command>(&item);
  if (command == nullptr || !command->to_parent)
    return nullptr;
  auto* list = std::get_if<std::vector<tool_target>>(&command->go_to);
  const auto is_send = [](const tool_target& t) { return t.input.has_value(); };
  return list != nullptr && std::ranges::all_of(*list, is_send) ? list : nullptr;
}

} // namespace

tool_output output_of(json::value result) {
  auto out = tool_output{};
  if (const auto* text = result.if_string())
    out.content.assign(text->data(), text->size());
  else if (auto* list = result.if_array(); list != nullptr && std::ranges::all_of(*list, is_block))
    out.blocks = std::move(*list);
  else
    out.content = to_spaced_json(result);
  return out;
}

tool_answer::operator message_ptr() const {
  if (answer == nullptr)
    throw tool_value_error{"the tool returned a command, so the tool_answer cannot be converted to "
                           "a message; read tool_answer::items"};
  return answer;
}

bool tool_node_output::has_commands() const noexcept {
  return std::ranges::any_of(
      items, [](const tool_item& item) { return std::holds_alternative<tool_command>(item); });
}

namespace detail {

template void block_ptr<tool_reply>::destroy(tool_reply*) noexcept;

std::vector<tool_item> checked(tool_reply reply, const tool_call& call, tool_input_form form,
                               std::string_view messages_key) {
  auto items = std::vector<tool_item>{};
  if (auto* message = std::get_if<superstep::message>(&reply)) {
    items.emplace_back(std::move(*message));
    return items;
  }
  if (auto* command = std::get_if<tool_command>(&reply)) {
    check_command(*command, call, form, messages_key, true);
    items.emplace_back(std::move(*command));
    return items;
  }
  items = std::get<std::vector<tool_item>>(std::move(reply));
  if (const auto count = count_answers(items, call); count != 1)
    throw tool_value_error{"tool '" + call.name + "' returned a list with " +
                           std::to_string(count) + " messages that answer call " +
                           to_text(json::value(call.id)) + "; exactly one is required"};
  for (auto& item : items)
    if (auto* command = std::get_if<tool_command>(&item))
      check_command(*command, call, form, messages_key, false);
  return items;
}

tool_node_output combine(std::vector<tool_answer> answers, tool_input_form form) {
  auto out = tool_node_output{form, {}};
  auto to_parent = std::optional<tool_command>{};
  for (auto& a : answers) {
    if (a.answer != nullptr)
      out.items.emplace_back(*a.answer);
    for (auto& item : a.items) {
      auto* sends = sends_to_parent(item);
      if (sends == nullptr) {
        out.items.push_back(std::move(item));
        continue;
      }
      if (!to_parent)
        to_parent = tool_command{{}, std::vector<tool_target>{}, true};
      auto& all = std::get<std::vector<tool_target>>(to_parent->go_to);
      std::ranges::move(*sends, std::back_inserter(all));
    }
  }
  if (to_parent)
    out.items.emplace_back(*std::move(to_parent));
  return out;
}

} // namespace detail
} // namespace superstep

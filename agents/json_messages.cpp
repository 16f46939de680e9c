// SPDX-License-Identifier: Apache-2.0
// Messages in JSON states: the reducer `messages`, and conversions from and to JSON.
#include <superstep/agents/json_messages.hpp>
#include <superstep/messages/message_json.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <unordered_set>
#include <utility>

namespace superstep {

namespace {

message_list read(const json::value& v, std::string_view key) {
  auto list = messages_from_json(v, key);
  if (!list)
    throw std::invalid_argument{list.error().text};
  return *std::move(list);
}

/// Whether no new message replaces or removes an existing one, so that all can be appended.
bool only_appends(const json::array& into, const message_list& more) {
  auto ids = std::unordered_set<std::string_view>{};
  for (const auto& m : more) {
    if (m.type == message_type::remove)
      return false;
    if (!m.id.empty())
      ids.insert(m.id);
  }
  // Items that the reducer has not written may have any form; read() reports their errors.
  return ids.empty() || std::ranges::all_of(into, [&](const json::value& held) {
           const auto* object = held.if_object();
           const auto* id = object ? object->if_contains("id") : nullptr;
           const auto* text = id ? id->if_string() : nullptr;
           return object && (!id || (text && !ids.contains(std::string_view{*text})));
         });
}

} // namespace

void add_json_messages(json::value& into, json::value&& more, id_source& ids) {
  auto added = read(more, "messages");
  // All that may throw is done before `into` is changed. If messages are only appended, the
  // existing ones are not parsed.
  if (!into.is_array() || (!ids.may_repeat() && only_appends(into.get_array(), added))) {
    auto list = message_list{};
    add_messages{}(list, std::move(added), ids);
    auto more_items = to_json_list(list);
    auto& held = into.is_array() ? into.get_array() : into.emplace_array();
    held.reserve(held.size() + more_items.size());
    for (auto& item : more_items)
      held.push_back(std::move(item));
    return;
  }
  auto all = read(into, "messages");
  add_messages{}(all, std::move(added), ids);
  into = to_json_list(all);
}

message_list messages_of(const json::value& state, std::string_view key) {
  const auto* object = state.if_object();
  const auto* list = object != nullptr ? object->if_contains(key) : nullptr;
  return list != nullptr && !list->is_null() ? read(*list, key) : message_list{};
}

json::array to_json_list(const message_list& messages) {
  auto out = json::array{};
  out.reserve(messages.size());
  for (const auto& m : messages)
    out.emplace_back(to_json(m));
  return out;
}

} // namespace superstep

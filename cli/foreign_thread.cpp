// SPDX-License-Identifier: Apache-2.0
#include "cli/foreign_thread.hpp"

#include <superstep/checkpoint/foreign_thread.hpp>
#include <superstep/messages/message_dict.hpp>
#include <superstep/messages/message_json.hpp>

#include <array>
#include <stdexcept>
#include <utility>

namespace superstep::cli {

namespace {

/// How deep messages are looked for: they stand in lists and objects of the state.
constexpr auto depth_max = 8;

const json::object* object_in(const json::object& from, std::string_view key) {
  const auto* found = from.if_contains(key);
  return found != nullptr ? found->if_object() : nullptr;
}

std::string_view text_in(const json::object& from, std::string_view key) {
  const auto* found = from.if_contains(key);
  return found != nullptr && found->is_string() ? std::string_view{found->get_string()}
                                                : std::string_view{};
}

/// The type of a message by the class that a constructor names; empty: it is no message.
std::string_view type_of_class(std::string_view name) {
  constexpr auto known =
      std::array<std::pair<std::string_view, std::string_view>, 7>{{{"HumanMessage", "human"},
                                                                    {"AIMessage", "ai"},
                                                                    {"SystemMessage", "system"},
                                                                    {"ToolMessage", "tool"},
                                                                    {"FunctionMessage", "function"},
                                                                    {"ChatMessage", "chat"},
                                                                    {"RemoveMessage", "remove"}}};
  for (const auto& [class_name, type] : known)
    if (name == class_name ||
        (name.ends_with("Chunk") && name.substr(0, name.size() - 5) == class_name))
      return type;
  return {};
}

/// `{"lc": 1, "type": "constructor", "id": […, "HumanMessage"], "kwargs": {…}}` as a message form;
/// an empty object: it is something else.
json::object constructed(const json::object& from) {
  const auto* id = from.if_contains("id");
  const auto* kwargs = object_in(from, "kwargs");
  if (!from.contains("lc") || kwargs == nullptr || id == nullptr || !id->is_array() ||
      id->get_array().empty() || !id->get_array().back().is_string())
    return {};
  const auto type = type_of_class(id->get_array().back().get_string());
  if (type.empty())
    return {};
  auto out = *kwargs;
  out["type"] = type;
  return out;
}

json::value to_message_form(const json::value& from) {
  auto m = message_from_json(from);
  if (!m)
    throw std::runtime_error{m.error().text};
  return to_json(*m);
}

/// Messages in a value, in whatever form, as superstep has them.
json::value with_messages(json::value from, int depth = 0) {
  if (depth > depth_max)
    return from;
  if (auto* list = from.if_array()) {
    for (auto& item : *list)
      item = with_messages(std::move(item), depth + 1);
    return from;
  }
  auto* members = from.if_object();
  if (members == nullptr)
    return from;
  if (auto made = constructed(*members); !made.empty())
    return to_message_form(json::value(std::move(made)));
  const auto type = text_in(*members, "type");
  const auto is_one_of_ours = !type.empty() && (members->contains("content") || type == "remove") &&
                              message_from_json(from).has_value();
  if (is_one_of_ours)
    return to_message_form(from);
  if (!type.empty() && members->size() == 2 && object_in(*members, "data") != nullptr)
    if (auto m = message_from_dict(from))
      return to_json(*m);
  for (auto& [key, v] : *members)
    v = with_messages(std::move(v), depth + 1);
  return from;
}

bool is_internal(std::string_view channel) {
  return channel.starts_with("__") || channel.find(':') != std::string_view::npos;
}

} // namespace

json::object to_reference_form(const json::object& shown) {
  auto values = json::object{};
  if (const auto* held = object_in(shown, "values"))
    values = *held;
  const auto* step = shown.if_contains("step");
  auto versions = json::object{};
  for (const auto& [name, v] : values)
    versions[name] = step != nullptr && step->is_int64() ? step->get_int64() + 2 : 1;
  auto metadata = json::object{{"parents", json::object{}}};
  for (const auto* key : {"source", "step"})
    if (const auto* found = shown.if_contains(key))
      metadata[key] = *found;
  auto out = json::object{{"v", 4}, {"id", text_in(shown, "id")}};
  out["channel_values"] = values;
  out["channel_versions"] = std::move(versions);
  out["versions_seen"] = json::object{};
  out["metadata"] = std::move(metadata);
  out["values"] = std::move(values);
  if (const auto* next = shown.if_contains("next"))
    out["next"] = *next;
  return out;
}

std::string from_reference_form(std::string_view text) {
  const auto parsed = parse_json(text);
  if (!parsed)
    throw std::runtime_error{"the thread is no JSON: " + parsed.error().text};
  const auto* top = &*parsed;
  if (top->is_array() && !top->get_array().empty())
    top = &top->get_array().front();
  const auto* at = top->if_object();
  if (const auto* inner = at != nullptr ? object_in(*at, "checkpoint") : nullptr;
      inner != nullptr && inner->contains("channel_values"))
    at = inner;
  const auto* values = at != nullptr ? object_in(*at, "channel_values") : nullptr;
  if (values == nullptr && at != nullptr)
    values = object_in(*at, "values");
  if (values == nullptr)
    throw std::runtime_error{"the thread is no checkpoint with \"channel_values\" and no snapshot "
                             "with \"values\", nor a list of these"};
  auto taken = json::object{};
  for (const auto& [name, v] : *values)
    if (!is_internal(name))
      taken[name] = with_messages(v);
  auto step = std::int64_t{-1};
  if (const auto* metadata = object_in(top->get_object(), "metadata"))
    if (const auto* found = metadata->if_contains("step"); found != nullptr && found->is_int64())
      step = found->get_int64();
  return thread_of_values(taken, step);
}

} // namespace superstep::cli

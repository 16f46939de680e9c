// SPDX-License-Identifier: Apache-2.0
// Converts threads between superstep's form and LangGraph's JSON form, for `superstep threads
// import` and `export` with the option --form langgraph.
#include "cli/imported_thread.hpp"

#include "base/json_members.hpp"
#include "checkpoint/thread_import.hpp"

#include <superstep/messages/message_json.hpp>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

namespace superstep::cli {

namespace {

/// The nesting depth up to which the lists and objects of a state are searched for messages.
constexpr auto depth_max = 8;

/// Returns the message type of a LangChain class, such as "human" for HumanMessage; empty for a
/// class that is not a message.
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

/// Converts a message in the form of LangChain's serializer,
/// `{"lc": 1, "type": "constructor", "id": […, "HumanMessage"], "kwargs": {…}}`, to a plain object
/// with a `type`. Returns an empty object for anything else.
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

/// Converts a message in one of LangChain's forms to superstep's form. Throws if it is not valid.
json::value to_message_form(const json::value& from) {
  auto m = message_from_json(from);
  if (!m)
    throw std::runtime_error{m.error().text};
  return to_json(*m);
}

/// Whether a member has a value that superstep's form leaves out: null, false, or an empty list or
/// object.
bool is_nothing(const json::value& v) {
  return v.is_null() || (v.is_object() && v.get_object().empty()) ||
         (v.is_array() && v.get_array().empty()) || v == false;
}

/// Whether an object may be a message in one of LangChain's forms.
bool is_message_like(const json::value& v) {
  const auto* members = v.if_object();
  return members != nullptr &&
         (members->contains("lc") || members->contains("type") || members->contains("role"));
}

/// Whether a converted message still contains every member of the original object, at the same
/// place.
bool has_all_of(const json::object& made, const json::object& given) {
  return std::ranges::all_of(given, [&](const auto& m) {
    const auto* found = made.if_contains(m.key());
    return found != nullptr ? *found == m.value() : is_nothing(m.value());
  });
}

/// Converts messages at any depth of a value to superstep's form.
///
/// An object may only look like a message. So outside a list of messages, it is converted only if
/// no member is lost or moved. In a list of messages, each object is converted, and unknown members
/// are moved to `additional_kwargs`, as in LangChain.
json::value with_messages(json::value from, int depth = 0, bool is_among_messages = false) {
  if (depth > depth_max)
    return from;
  if (auto* list = from.if_array()) {
    const auto are_messages = std::ranges::all_of(*list, is_message_like);
    for (auto& item : *list)
      item = with_messages(std::move(item), depth + 1, are_messages);
    return from;
  }
  auto* members = from.if_object();
  if (members == nullptr)
    return from;
  if (auto made = constructed(*members); !made.empty())
    return to_message_form(json::value(std::move(made)));
  const auto type = text_in(*members, "type");
  if (!type.empty() && (members->contains("content") || type == "remove"))
    if (const auto m = message_from_json(from))
      if (auto made = to_json(*m); is_among_messages || has_all_of(made, *members))
        return made;
  const auto* data = members->size() == 2 ? object_in(*members, "data") : nullptr;
  if (!type.empty() && data != nullptr && (is_among_messages || text_in(*data, "type") == type))
    if (auto m = message_from_dict(from))
      return to_json(*m);
  for (auto& [key, v] : *members)
    v = with_messages(std::move(v), depth + 1);
  return from;
}

/// Throws if an object of the channel `messages` is not a valid message. Objects of other lists may
/// only look like messages, so they are not checked. Placeholders (`lc`) are reported as warnings.
void check_messages(const json::value& v) {
  const auto* list = v.if_array();
  for (auto i = std::size_t{0}; list != nullptr && i < list->size(); ++i) {
    const auto& item = (*list)[i];
    const auto* members = item.if_object();
    if (members == nullptr || members->contains("lc") || !is_message_like(item) ||
        !(members->contains("role") || members->contains("content")))
      continue; // without these members it may be an object of the user's own
    const auto read = message_from_json(item, "messages[" + std::to_string(i) + ']');
    if (read || message_from_dict(item))
      continue;
    auto text = read.error().text;
    if (text.ends_with('.'))
      text.pop_back();
    throw std::runtime_error{text + "; nothing was imported"};
  }
}

/// Whether a channel is internal to LangGraph, in any of its versions. The names of such channels
/// are `__start__`, `branch:to:node`, `branch:node:condition:node`, `join:a+b:node` or
/// `start:node`. A channel of the user may also have a colon in its name, so the number of colons
/// is checked.
bool is_internal(std::string_view channel, const json::value& held) {
  const auto colons = std::ranges::count(channel, ':');
  return channel.starts_with("__") || channel.starts_with("branch:to:") ||
         (channel.starts_with("branch:") && colons == 3) ||
         (channel.starts_with("join:") && colons == 2) ||
         (channel.starts_with("start:") && colons == 1 &&
          (held.is_null() || held == json::value("__start__")));
}

/// Finds placeholders in a state. LangChain's serializer writes them for values that JSON cannot
/// represent, for example `{"lc": 1, "type": "not_implemented", "id": ["datetime", "datetime"],
/// "repr": …}`. Secrets, and objects of classes that are not messages (`constructor`), are
/// placeholders too.
class placeholder_search {
public:
  void look_at(const json::value& v, const std::string& place, int depth = 0) {
    if (depth > looked_depth_max)
      return;
    if (const auto* list = v.if_array()) {
      for (auto i = std::size_t{0}; i < list->size(); ++i)
        look_at((*list)[i], place + '[' + std::to_string(i) + ']', depth + 1);
      return;
    }
    const auto* members = v.if_object();
    if (members == nullptr)
      return;
    const auto* mark = members->if_contains("lc");
    if (mark != nullptr && mark->is_number() && members->contains("id")) {
      note(*members, place);
      return;
    }
    for (const auto& [key, inner] : *members)
      look_at(inner, place + '.' + std::string{key}, depth + 1);
  }

  [[nodiscard]] std::vector<std::string> take() {
    if (count_ > found_.size())
      found_.push_back(std::to_string(count_ - found_.size()) + " more");
    return std::move(found_);
  }

private:
  static constexpr auto looked_depth_max = 64;
  static constexpr auto named_max = std::size_t{20};

  void note(const json::object& placeholder, const std::string& place) {
    ++count_;
    if (found_.size() >= named_max)
      return;
    auto name = std::string{};
    if (const auto* id = placeholder.at("id").if_array())
      for (const auto& part : *id)
        if (part.is_string())
          name += (name.empty() ? "" : ".") + std::string{part.get_string()};
    found_.push_back(place + ": " + (name.empty() ? "an object" : name));
  }

  std::vector<std::string> found_;
  std::size_t count_ = 0;
};

} // namespace

json::object to_langgraph_form(const json::object& shown) {
  auto values = json::object{};
  if (const auto* held = object_in(shown, "values"))
    values = *held;
  const auto* step = shown.if_contains("step");
  auto versions = json::object{};
  for (const auto& [name, v] : values)
    // LangGraph counts versions from 1 with each step, and its first step has the number -1.
    versions[name] = step != nullptr && step->is_int64() ? step->get_int64() + 2 : 1;
  auto metadata = json::object{{"parents", json::object{}}};
  for (const auto* key : {"source", "step"})
    if (const auto* found = shown.if_contains(key))
      metadata[key] = *found;
  if (const auto* said = object_in(shown, "metadata"))
    for (const auto& [key, entry] : *said)
      metadata.emplace(key, entry);
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

imported_thread from_langgraph_form(std::string_view text) {
  const auto parsed = parse_json(text);
  if (!parsed)
    throw std::runtime_error{"not a LangGraph thread: " + parsed.error().text +
                             "; nothing was imported"};
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
    throw std::runtime_error{"not a LangGraph thread: expected a checkpoint with "
                             "\"channel_values\", a snapshot with \"values\", or a list of these; "
                             "nothing was imported"};
  auto taken = json::object{};
  auto placeholders = placeholder_search{};
  for (const auto& [name, v] : *values) {
    if (is_internal(name, v))
      continue;
    auto& made = taken[name];
    if (name == "messages")
      check_messages(v);
    made = with_messages(v);
    placeholders.look_at(made, std::string{name});
  }
  auto step = std::int64_t{-1};
  if (const auto* metadata = object_in(top->get_object(), "metadata"))
    if (const auto* found = metadata->if_contains("step"); found != nullptr && found->is_int64())
      step = found->get_int64();
  return {thread_of_values(taken, step), placeholders.take()};
}

} // namespace superstep::cli

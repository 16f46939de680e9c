// SPDX-License-Identifier: Apache-2.0
// The channels of a JSON graph: converts between slots and JSON objects, and converts updates to
// writes. json_graph.cpp creates the layout.
#include "json_layout.hpp"

#include "json_append.hpp"

#include <algorithm>

namespace superstep::detail {

namespace {

using single_slot = std::optional<json::value>;
using item_slot = std::vector<json::value>;

/// Returns the value of an overwrite in either of LangGraph's forms ({"__overwrite__": value}, or
/// {"type": "__overwrite__", "value": value}), or null if `v` is not an overwrite.
json::value* overwritten(json::value& v) {
  if (!v.is_object())
    return nullptr;
  auto& o = v.as_object();
  if (o.size() == 1)
    return o.if_contains("__overwrite__");
  const auto* type = o.if_contains("type");
  if (type != nullptr && type->is_string() && type->as_string() == "__overwrite__")
    return o.if_contains("value");
  return nullptr;
}

[[noreturn]] void throw_invalid(std::string text) {
  throw graph_error{graph_errc::invalid_update, std::move(text)};
}

json::array as_array(const item_slot& items) {
  return json::array(items.begin(), items.end());
}

} // namespace

std::vector<json::value> json_items::operator()(json::value&& v) const {
  if (!v.is_array())
    return {std::move(v)};
  const auto& items = v.as_array();
  return {items.begin(), items.end()};
}

json::object json_layout::read(const state_block& state,
                               const std::vector<std::uint32_t>& only) const {
  const auto& slots = static_cast<const slot_block&>(state);
  auto object = json::object{};
  const auto add = [&](std::uint32_t i) {
    SUPERSTEP_ASSERT(i < channels.size());
    const auto& channel = channels[i];
    if (channel.kind == json_kind::items) {
      if (const auto& items = slots.at<item_slot>(i); !items.empty())
        object.emplace(channel.name, as_array(items));
    } else if (channel.kind == json_kind::appended) {
      object.emplace(channel.name, slots.at<appended_json>(i).to_json());
    } else if (channel.kind == json_kind::managed) {
      return;
    } else if (const auto& held = slots.at<single_slot>(i)) {
      object.emplace(channel.name, *held);
    }
  };
  if (only.empty()) {
    object.reserve(channels.size());
    for (auto i = std::uint32_t{0}; i < channels.size(); ++i)
      add(i);
  } else {
    std::for_each(only.begin(), only.end(), add);
  }
  return object;
}

/// Managed channels have no stored values, so their values are computed for each call.
json::object json_layout::input_of(const body_input& given, const state_block& state,
                                   const std::vector<std::uint32_t>& only) const {
  auto object = read(state, only);
  for (const auto& [number, is_flag] : managed) {
    if (!only.empty() && std::ranges::find(only, number) == only.end())
      continue;
    object[channels[number].name] =
        is_flag ? json::value(given.steps_left == 1) : json::value(given.steps_left);
  }
  return object;
}

void json_layout::check(const json::value& given) const {
  for (const auto& [name, shape] : shapes) {
    const auto* held = given.get_object().if_contains(name);
    if (held == nullptr) // the channel is empty, or the node does not read it
      continue;
    if (const auto wrong = shape.misfit(*held, name))
      throw_invalid(*wrong);
  }
}

write json_layout::write_of(std::uint32_t number, json::value v) const {
  const auto kind = channels[number].kind;
  if (kind == json_kind::folded || kind == json_kind::appended) {
    if (auto* instead = overwritten(v); instead != nullptr)
      return {number, true, value{json::value(std::move(*instead))}};
  }
  return {number, false, value{std::move(v)}};
}

write_list json_layout::writes_of(json::value update) const {
  auto writes = write_list{};
  if (update.is_null())
    return writes;
  if (!update.is_object())
    throw_invalid("Expected an object, got " + to_text(update) +
                  "\nReturn a JSON object with the channels to write, or null for none.");
  for (auto& [key, v] : update.as_object()) {
    const auto found = numbers.find(std::string_view{key});
    if (found != numbers.end() && !is_read_only(found->second))
      writes.push_back(write_of(found->second, std::move(v)));
    else if (!ignore_unknown)
      throw_invalid("the update names '" + std::string{key} +
                    "', which is not a channel of the graph or is read-only");
  }
  return writes;
}

std::shared_ptr<const json::object>
json_layout::unread_members(const json::value& update,
                            const std::vector<std::uint32_t>& reads) const {
  const auto is_topic = [](const entry& e) { return e.kind == json_kind::items; };
  // The usual case: the node reads every channel, so every member of the update is read.
  if (!update.is_object() ||
      (reads.empty() && !ignore_unknown && std::ranges::none_of(channels, is_topic)))
    return {};
  auto out = std::shared_ptr<json::object>{};
  for (const auto& [key, v] : update.get_object()) {
    const auto found = numbers.find(std::string_view{key});
    const auto is_read = found != numbers.end() &&
                         (reads.empty() || std::ranges::binary_search(reads, found->second));
    // An empty list leaves a topic without a value, so the router would not see the member.
    const auto stays_empty = is_read && channels[found->second].kind == json_kind::items &&
                             v.is_array() && v.get_array().empty();
    if (is_read && !stays_empty)
      continue;
    if (!out)
      out = std::make_shared<json::object>();
    out->emplace(key, v);
  }
  return out;
}

json::value json_layout::value_of(const write& w) const {
  if (w.overwrite)
    return json::object{{"__overwrite__", w.content.as<json::value>()}};
  return w.content.as<json::value>();
}

} // namespace superstep::detail

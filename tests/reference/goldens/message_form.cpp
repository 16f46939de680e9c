// SPDX-License-Identifier: Apache-2.0
// Forms in which message cases print messages and blocks.
#include "message_form.hpp"

#include <superstep/messages/message_json.hpp>

namespace superstep::conformance {

namespace {

bool holds_nothing(const json::value& v) {
  return v.is_null() || (v.is_array() && v.get_array().empty()) ||
         (v.is_object() && v.get_object().empty());
}

/// Removes nulls at any depth, and objects that become empty.
json::value without_nulls(const json::value& v) {
  if (const auto* array = v.if_array()) {
    auto out = json::array{};
    for (const auto& element : *array)
      out.push_back(without_nulls(element));
    return out;
  }
  const auto* object = v.if_object();
  if (!object)
    return v;
  auto out = json::object{};
  for (const auto& [key, member] : *object) {
    if (member.is_null())
      continue;
    auto rest = without_nulls(member);
    if (!rest.is_object() || !rest.get_object().empty())
      out.emplace(key, std::move(rest));
  }
  return out;
}

json::object without_null_members(const json::object& whole) {
  auto out = json::object{};
  for (const auto& [key, member] : whole)
    if (!member.is_null())
      out.emplace(key, member);
  return out;
}

/// Returns content, or a list of blocks, in recorded form. Nulls are removed only from a block and
/// its extras; deeper nulls are data, for example call arguments.
json::value blocks_form(const json::value& content) {
  const auto* blocks = content.if_array();
  if (!blocks)
    return content;
  auto out = json::array{};
  for (const auto& block : *blocks) {
    if (!block.is_object()) {
      out.push_back(block);
      continue;
    }
    auto form = without_null_members(block.get_object());
    if (auto* extras = form.if_contains("extras"); extras && extras->is_object())
      *extras = without_null_members(extras->get_object());
    out.push_back(std::move(form));
  }
  return out;
}

json::value form_of(const json::object& whole) {
  auto out = json::object{};
  for (const auto& [key, member] : whole) {
    if (key == "content") {
      out.emplace(key, blocks_form(member));
      continue;
    }
    auto value = member;
    if (key == "additional_kwargs" || key == "response_metadata" || key == "usage_metadata")
      value = without_nulls(value);
    const auto given_to_a_run =
        key == "id" && value.is_string() &&
        (value.get_string().starts_with("lc_run-") || value.get_string().starts_with("run-"));
    if (!holds_nothing(value) && !given_to_a_run)
      out.emplace(key, std::move(value));
  }
  return out;
}

} // namespace

json::value form_of(const message& m) {
  return form_of(to_json(m));
}

json::value form_of(const message_chunk& chunk) {
  return form_of(to_json(chunk));
}

json::value form_of_blocks(json::array blocks) {
  return blocks_form(std::move(blocks));
}

message message_in(const json::value& value) {
  const auto* object = value.if_object();
  const auto* type = object ? object->if_contains("type") : nullptr;
  if (type && type->is_string() && type->get_string().ends_with("Chunk"))
    return to_message(value_of(chunk_from_json(value)));
  return value_of(message_from_json(value));
}

message_list messages_in(const json::object& input) {
  auto out = message_list{};
  for (const auto& value : input.at("messages").as_array())
    out.push_back(message_in(value));
  return out;
}

} // namespace superstep::conformance

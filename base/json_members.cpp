// SPDX-License-Identifier: Apache-2.0
// Accessors for members of JSON objects whose types are not known.
#include "base/json_members.hpp"

#include <algorithm>

namespace superstep {

const json::value* member(const json::object& o, std::string_view key) {
  const auto* value = o.if_contains(key);
  return value && !value->is_null() ? value : nullptr;
}

std::string_view text_in(const json::object& o, std::string_view key) {
  const auto* value = o.if_contains(key);
  const auto* text = value ? value->if_string() : nullptr;
  return text ? std::string_view{text->data(), text->size()} : std::string_view{};
}

const json::object* object_in(const json::object& o, std::string_view key) {
  const auto* value = o.if_contains(key);
  return value ? value->if_object() : nullptr;
}

const json::array* array_in(const json::object& o, std::string_view key) {
  const auto* value = o.if_contains(key);
  return value ? value->if_array() : nullptr;
}

std::string_view type_of(const json::object& block) {
  return text_in(block, "type");
}

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

} // namespace superstep

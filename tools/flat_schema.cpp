// SPDX-License-Identifier: Apache-2.0
// The fast check of tool arguments against simple schemas.
#include "flat_schema.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace superstep::detail {

namespace {

/// Larger values are left to the complete validator, which has limits on its time and can be
/// stopped.
constexpr auto steps_max = std::size_t{10'000};
/// Members are searched one by one.
constexpr auto properties_max = std::size_t{32};

constexpr auto annotations = std::array<std::string_view, 8>{
    "title", "description", "default", "examples", "$comment", "readOnly", "writeOnly", "$schema"};

std::uint8_t bit_of(json::kind kind) noexcept {
  return static_cast<std::uint8_t>(1U << static_cast<unsigned>(kind));
}

/// Returns the bits of a type's name; 0 if there is no such type. The complete validator decides
/// whether other numbers are integers.
std::uint8_t bits_of(std::string_view type) noexcept {
  if (type == "string")
    return bit_of(json::kind::string);
  if (type == "integer")
    return bit_of(json::kind::int64);
  if (type == "number")
    return static_cast<std::uint8_t>(bit_of(json::kind::int64) | bit_of(json::kind::double_));
  if (type == "boolean")
    return bit_of(json::kind::bool_);
  if (type == "object")
    return bit_of(json::kind::object);
  if (type == "array")
    return bit_of(json::kind::array);
  return type == "null" ? bit_of(json::kind::null) : std::uint8_t{0};
}

std::string_view text_in(const json::value& v) {
  return v.is_string() ? std::string_view{v.get_string()} : std::string_view{};
}

/// Reads the keyword `type`: a name, or a list of names. Returns 0 if it is not valid.
std::uint8_t read_types(const json::value& with) {
  if (!with.is_array())
    return bits_of(text_in(with));
  auto all = std::uint8_t{0};
  for (const auto& one : with.get_array()) {
    const auto bits = bits_of(text_in(one));
    if (bits == 0)
      return 0;
    all = static_cast<std::uint8_t>(all | bits);
  }
  return all;
}

} // namespace

std::optional<flat_schema> flat_schema::compile(const json::object& schema) {
  auto root = read(json::value(schema));
  if (root == nullptr || !root->texts.empty())
    return std::nullopt;
  if (root->types != 0 && (root->types & bit_of(json::kind::object)) == 0)
    return std::nullopt;
  return flat_schema{std::move(root)};
}

/// Returns null if the schema uses other keywords.
std::unique_ptr<flat_schema::node> flat_schema::read(const json::value& schema) {
  auto out = std::make_unique<node>();
  if (schema.is_bool() && schema.get_bool())
    return out;
  const auto* object = schema.if_object();
  if (object == nullptr)
    return nullptr;
  const auto* required = object->if_contains("required");
  for (const auto& [key, with] : *object)
    if (&with != required && !read_keyword(*out, std::string_view{key}, with))
      return nullptr;
  if (required == nullptr)
    return out;
  if (!required->is_array())
    return nullptr;
  for (const auto& name : required->get_array()) {
    const auto found = std::ranges::find(out->properties, text_in(name), &property::name);
    if (found == out->properties.end())
      return nullptr;
    out->required += found->is_required ? 0U : 1U;
    found->is_required = true;
  }
  return out;
}

bool flat_schema::read_keyword(node& into, std::string_view key, const json::value& with) {
  if (std::ranges::find(annotations, key) != annotations.end())
    return true;
  if (key == "type") {
    into.types = read_types(with);
    return into.types != 0;
  }
  if (key == "additionalProperties") {
    into.is_closed = with.is_bool() && !with.get_bool();
    return with.is_bool();
  }
  if (key == "items") {
    into.items = read(with);
    return into.items != nullptr;
  }
  if (key == "enum" && with.is_array()) {
    for (const auto& text : with.get_array()) {
      if (!text.is_string())
        return false;
      into.texts.emplace_back(std::string_view{text.get_string()});
    }
    return !into.texts.empty();
  }
  const auto* properties = key == "properties" ? with.if_object() : nullptr;
  if (properties == nullptr || properties->size() > properties_max)
    return false;
  for (const auto& [name, schema] : *properties) {
    auto below = read(schema);
    if (below == nullptr)
      return false;
    into.properties.push_back({std::string{std::string_view{name}}, false, std::move(below)});
  }
  return true;
}

bool flat_schema::accepts(const json::object& arguments) const {
  auto steps = steps_max;
  return accepts(*root_, arguments, steps);
}

// The recursion is as deep as the schema.
bool flat_schema::accepts(const node& schema, const json::value& value, std::size_t& steps) {
  if (steps-- == 0)
    return false;
  if (schema.types != 0 && (schema.types & bit_of(value.kind())) == 0)
    return false;
  if (!schema.texts.empty() &&
      (!value.is_string() || std::ranges::find(schema.texts, text_in(value)) == schema.texts.end()))
    return false;
  if (const auto* object = value.if_object())
    return accepts(schema, *object, steps);
  const auto* list = value.if_array();
  return list == nullptr || schema.items == nullptr ||
         std::ranges::all_of(*list,
                             [&](const auto& item) { return accepts(*schema.items, item, steps); });
}

bool flat_schema::accepts(const node& schema, const json::object& object, std::size_t& steps) {
  auto required = schema.required;
  for (const auto& [key, value] : object) {
    if (steps-- == 0)
      return false;
    const auto found = std::ranges::find(schema.properties, std::string_view{key}, &property::name);
    if (found == schema.properties.end()) {
      if (schema.is_closed)
        return false;
    } else if (!accepts(*found->schema, value, steps)) {
      return false;
    } else if (found->is_required) {
      --required;
    }
  }
  return required == 0;
}

} // namespace superstep::detail

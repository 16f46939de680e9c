// SPDX-License-Identifier: Apache-2.0
#include "protocols/schema_check.hpp"

#include "protocols/coerce_schema.hpp"
#include "protocols/coerce_text.hpp"

#include <algorithm>
#include <cmath>

namespace superstep {

namespace {

constexpr auto depth_max = 256;

bool is_of_type(const json::value& v, std::string_view type) {
  if (type == "object")
    return v.is_object();
  if (type == "array")
    return v.is_array();
  if (type == "string")
    return v.is_string();
  if (type == "boolean")
    return v.is_bool();
  if (type == "null")
    return v.is_null();
  if (type == "number")
    return v.is_number();
  if (type == "integer")
    return v.is_number() && std::trunc(v.to_number<double>()) == v.to_number<double>();
  return true; // a type from elsewhere refuses nothing
}

bool type_matches(const json::value& v, const json::value& type) {
  if (const auto* name = type.if_string())
    return is_of_type(v, text::view(*name));
  const auto* list = type.if_array();
  return list == nullptr || list->empty() || std::ranges::any_of(*list, [&](const auto& t) {
           return t.is_string() && is_of_type(v, text::view(t.get_string()));
         });
}

bool check(const json::value& v, const json::value& schema, int depth);

bool check_object(const json::object& o, const json::value& schema, int depth) {
  if (const auto* required = schema::member(schema, "required"); required && required->is_array())
    for (const auto& name : required->get_array())
      if (name.is_string() && !o.contains(name.get_string()))
        return false;
  const auto* properties = schema::properties(schema);
  const auto* more = schema::member(schema, "additionalProperties");
  for (const auto& member : o) {
    const auto* own = properties ? properties->if_contains(member.key()) : nullptr;
    const auto patterns = schema::pattern_schemas(schema, text::view(member.key()));
    if (own && !check(member.value(), *own, depth + 1))
      return false;
    for (const auto* pattern : patterns)
      if (!check(member.value(), *pattern, depth + 1))
        return false;
    if (!own && patterns.empty() && more && !check(member.value(), *more, depth + 1))
      return false;
  }
  return true;
}

bool check_array(const json::array& items, const json::value& schema, int depth) {
  const auto* prefix = schema::member(schema, "prefixItems");
  const auto* each = schema::member(schema, "items");
  // Before prefixItems there was a list under `items`.
  if (prefix == nullptr && each && each->is_array())
    std::swap(prefix, each);
  const auto fixed = prefix && prefix->is_array() ? prefix->get_array().size() : 0;
  for (auto i = std::size_t{0}; i < items.size(); ++i) {
    const auto* s = i < fixed ? &prefix->get_array()[i] : each;
    if (s && !check(items[i], *s, depth + 1))
      return false;
  }
  return true;
}

bool check_combined(const json::value& v, const json::value& schema, int depth) {
  const auto count = [&](const json::array& parts) {
    return std::ranges::count_if(parts,
                                 [&](const auto& part) { return check(v, part, depth + 1); });
  };
  if (const auto* all = schema::member(schema, "allOf"); all && all->is_array())
    if (!std::ranges::all_of(all->get_array(),
                             [&](const auto& part) { return check(v, part, depth + 1); }))
      return false;
  if (const auto* any = schema::member(schema, "anyOf"); any && any->is_array())
    if (count(any->get_array()) == 0)
      return false;
  if (const auto* one = schema::member(schema, "oneOf"); one && one->is_array())
    return count(one->get_array()) == 1;
  return true;
}

bool check(const json::value& v, const json::value& wrapped, int depth) {
  if (depth > depth_max)
    return false;
  const auto& schema = schema::unwrap(wrapped);
  if (const auto* b = schema.if_bool())
    return *b;
  if (!schema.is_object())
    return true;
  if (const auto* type = schema::member(schema, "type"); type && !type_matches(v, *type))
    return false;
  if (const auto* list = schema::member(schema, "enum"); list && list->is_array())
    if (std::ranges::find(list->get_array(), v) == list->get_array().end())
      return false;
  if (const auto* constant = schema::member(schema, "const"); constant && *constant != v)
    return false;
  if (const auto* o = v.if_object(); o && !check_object(*o, schema, depth))
    return false;
  if (const auto* a = v.if_array(); a && !check_array(*a, schema, depth))
    return false;
  return check_combined(v, schema, depth);
}

} // namespace

bool matches_schema(const json::value& v, const json::value& schema) {
  return check(v, schema, 0);
}

} // namespace superstep

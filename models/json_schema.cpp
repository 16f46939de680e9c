// SPDX-License-Identifier: Apache-2.0
// Reads the subset of JSON Schema that text protocols need to convert and check arguments, as the
// AI SDK middleware does. Structured answers (structured_model.cpp) use the same check.
// tools/argument_schema.cpp is the complete validator for tool arguments.
#include "models/json_schema.hpp"

#include "models/pattern_risk.hpp"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

namespace superstep::schema {

namespace {

constexpr auto names = std::array<std::pair<std::string_view, kind>, 7>{{{"object", kind::object},
                                                                         {"array", kind::array},
                                                                         {"boolean", kind::boolean},
                                                                         {"number", kind::number},
                                                                         {"integer", kind::integer},
                                                                         {"string", kind::string},
                                                                         {"null", kind::null}}};

bool lists(const json::array& types, std::string_view name) noexcept {
  for (const auto& t : types)
    if (t.is_string() && std::string_view{t.get_string()} == name)
      return true;
  return false;
}

/// Whether JavaScript treats the value as true. false, null, 0 and an empty string are not.
bool is_truthy(const json::value* v) noexcept {
  if (v == nullptr || v->is_null())
    return false;
  if (const auto* b = v->if_bool())
    return *b;
  if (const auto* s = v->if_string())
    return !s->empty();
  return !v->is_number() || v->to_number<double>() != 0;
}

} // namespace

const json::value* member(const json::value& schema, std::string_view name) noexcept {
  const auto* o = schema.if_object();
  return o ? o->if_contains(name) : nullptr;
}

const json::value& unwrap(const json::value& schema) noexcept {
  const auto* innermost = &schema;
  while (const auto* inner = member(*innermost, "jsonSchema"))
    innermost = inner;
  return *innermost;
}

kind kind_of(const json::value& wrapped) noexcept {
  const auto& schema = unwrap(wrapped);
  if (const auto* type = member(schema, "type")) {
    for (const auto& [name, k] : names) {
      if (type->is_string() && std::string_view{type->get_string()} == name)
        return k;
      if (type->is_array() && k != kind::null && lists(type->get_array(), name))
        return k;
    }
    if (type->is_string())
      return kind::other;
  }
  if (is_truthy(member(schema, "properties")) || is_truthy(member(schema, "additionalProperties")))
    return kind::object;
  if (is_truthy(member(schema, "items")) || is_truthy(member(schema, "prefixItems")))
    return kind::array;
  return kind::none;
}

bool allows_null(const json::value& schema) noexcept {
  const auto* type = member(schema, "type");
  if (type == nullptr)
    return false;
  if (const auto* list = type->if_array())
    return lists(*list, "null");
  return type->is_string() && std::string_view{type->get_string()} == "null";
}

bool is_closed(const json::value& schema) noexcept {
  const auto* more = member(schema, "additionalProperties");
  return more && more->is_bool() && !more->get_bool();
}

const json::object* properties(const json::value& schema) noexcept {
  const auto* p = member(schema, "properties");
  return p ? p->if_object() : nullptr;
}

bool is_scalar(kind k) noexcept {
  return k == kind::boolean || k == kind::number || k == kind::integer || k == kind::string;
}

std::vector<const json::value*> pattern_schemas(const json::value& schema, std::string_view key) {
  auto found = std::vector<const json::value*>{};
  const auto* patterns = member(schema, "patternProperties");
  if (patterns == nullptr || !patterns->is_object())
    return found;
  for (const auto& entry : patterns->get_object()) {
    const auto pattern = std::string_view{entry.key()};
    if (is_risky_pattern(pattern))
      continue;
    auto options = re2::RE2::Options{};
    options.set_log_errors(false);
    const auto regex = re2::RE2{re2::StringPiece{pattern.data(), pattern.size()}, options};
    if (regex.ok() && re2::RE2::PartialMatch(re2::StringPiece{key.data(), key.size()}, regex))
      found.push_back(&entry.value());
  }
  return found;
}

bool is_false(const json::value& schema) noexcept {
  return schema.is_bool() && !schema.get_bool();
}

const json::object* closed_properties(const json::value& schema) noexcept {
  return kind_of(schema) == kind::object && is_closed(schema) ? properties(schema) : nullptr;
}

namespace {

/// Whether the schema allows every value: it is absent, `true` or `{}`.
bool allows_all(const json::value& schema) {
  const auto* object = schema.if_object();
  return schema.is_null() || (schema.is_bool() && schema.get_bool()) ||
         (object != nullptr && object->empty());
}

bool can_have_at(const json::value& wrapped, std::string_view key, int depth);

/// Whether the combinators of a schema allow a member with this key. False without combinators.
bool combinators_can_have(const json::value& schema, std::string_view key, int depth) {
  const auto has_key = [&](const auto& part) { return can_have_at(part, key, depth + 1); };
  auto found = false;
  for (const auto* name : {"anyOf", "oneOf", "allOf"}) {
    const auto* parts = member(schema, name);
    if (parts == nullptr || !parts->is_array())
      continue;
    found = true;
    const auto& list = parts->get_array();
    if (name == std::string_view{"allOf"} ? !std::ranges::all_of(list, has_key)
                                          : !std::ranges::any_of(list, has_key))
      return false;
  }
  return found;
}

/// Whether the schema describes objects that may have members it does not name.
bool is_open_object(const json::value& schema) {
  if (const auto* more = member(schema, "additionalProperties"))
    return more->is_object() || (more->is_bool() && more->get_bool());
  if (const auto* type = member(schema, "type")) {
    const auto* name = type->if_string();
    const auto* list = type->if_array();
    if ((name && std::string_view{*name} == "object") || (list && lists(*list, "object")))
      return true;
  }
  const auto* patterns = member(schema, "patternProperties");
  const auto* required = member(schema, "required");
  return properties(schema) != nullptr || (patterns && patterns->is_object()) ||
         (required && required->is_array() && !required->get_array().empty());
}

/// Whether an object that matches the schema may have a member with this key.
bool can_have_at(const json::value& wrapped, std::string_view key, int depth) {
  constexpr auto combinators_max = 5; // deeper schemas are assumed to allow the member
  const auto& schema = unwrap(wrapped);
  if (depth > combinators_max || allows_all(schema))
    return true;
  if (!schema.is_object())
    return false;
  const auto* named = properties(schema);
  const auto* own = named != nullptr ? named->if_contains(key) : nullptr;
  const auto patterns = pattern_schemas(schema, key);
  if ((own != nullptr && is_false(*own)) ||
      std::ranges::any_of(patterns, [](const auto* p) { return is_false(*p); }))
    return false;
  const auto* required = member(schema, "required");
  const auto is_required =
      required != nullptr && required->is_array() && lists(required->get_array(), key);
  return own != nullptr || is_required || !patterns.empty() || is_open_object(schema) ||
         combinators_can_have(schema, key, depth);
}

} // namespace

bool can_have(const json::value& schema, std::string_view key) {
  return can_have_at(schema, key, 0);
}

} // namespace superstep::schema

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
  return true; // unknown types accept every value
}

bool type_matches(const json::value& v, const json::value& type) {
  if (const auto* name = type.if_string())
    return is_of_type(v, std::string_view{*name});
  const auto* list = type.if_array();
  return list == nullptr || list->empty() || std::ranges::any_of(*list, [&](const auto& t) {
           return t.is_string() && is_of_type(v, std::string_view{t.get_string()});
         });
}

/// Whether a value has the type that the keywords of a schema without `type` imply.
bool implied_type_matches(const json::value& v, const json::value& schema) {
  const auto kind = schema::kind_of(schema);
  const auto has = [&](std::string_view name) { return schema::member(schema, name) != nullptr; };
  if (kind == schema::kind::object || has("required") || has("patternProperties") ||
      has("additionalProperties"))
    return v.is_object();
  const auto* items = schema::member(schema, "items");
  return v.is_array() || (kind != schema::kind::array && (items == nullptr || !items->is_array()));
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
    const auto patterns = schema::pattern_schemas(schema, std::string_view{member.key()});
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
  // Before draft 2020-12, `items` could be a list and had the role of prefixItems.
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
  const auto* type = schema::member(schema, "type");
  if (type != nullptr ? !type_matches(v, *type) : !implied_type_matches(v, schema))
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

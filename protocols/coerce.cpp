// SPDX-License-Identifier: Apache-2.0
#include "protocols/coerce_array.hpp"
#include "protocols/coerce_rename.hpp"
#include "protocols/coerce_schema.hpp"
#include "protocols/coerce_text.hpp"

#include <superstep/protocols/coerce.hpp>
#include <superstep/protocols/relaxed_json.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace superstep {

namespace {

using schema::kind;

// Values and schemas are bounded by their parsers; strings that hold JSON that holds strings are
// not, so the way down is counted.
constexpr auto depth_max = 512;

std::optional<json::value> json_of(std::string_view text, char open) {
  if (!text.starts_with(open))
    return {};
  if (auto parsed = parse_lenient_json(text))
    return std::move(*parsed);
  return {};
}

/// JSON, or JSON once single quotes are read as double ones.
std::optional<json::value> quoted_json_of(std::string_view text, char open) {
  if (auto parsed = json_of(text, open))
    return parsed;
  if (!text.starts_with(open) || text.find('\'') == text.npos)
    return {};
  auto requoted = std::string{text};
  std::ranges::replace(requoted, '\'', '"');
  return json_of(requoted, open);
}

/// What a text most likely is when nothing is known of its type.
json::value guess(json::value v, int depth) {
  auto* s = v.if_string();
  if (s == nullptr || depth > depth_max)
    return v;
  const auto trimmed = text::trim(text::view(*s));
  if (const auto b = text::boolean_of(trimmed))
    return *b;
  if (const auto d = text::number_of(trimmed))
    return text::number_value(*d);
  const auto wrapped = (trimmed.starts_with('{') && trimmed.ends_with('}')) ||
                       (trimmed.starts_with('[') && trimmed.ends_with(']'));
  auto parsed = wrapped ? json_of(trimmed, trimmed.front()) : std::nullopt;
  if (!parsed)
    return v;
  if (auto* items = parsed->if_array())
    for (auto& item : *items)
      item = guess(std::move(item), depth + 1);
  else if (auto* members = parsed->if_object())
    for (auto& member : *members)
      member.value() = guess(std::move(member.value()), depth + 1);
  return std::move(*parsed);
}

/// The one member of a string enum that the text means.
std::optional<std::string> enum_member(std::string_view s, const json::value& schema) {
  const auto* list = schema::member(schema, "enum");
  if (list == nullptr || !list->is_array())
    return {};
  const auto& members = list->get_array();
  if (!std::ranges::all_of(members, [](const auto& m) { return m.is_string(); }))
    return {};
  const auto is_member = [&](std::string_view text) {
    return std::ranges::any_of(members,
                               [&](const auto& m) { return text::view(m.get_string()) == text; });
  };
  if (is_member(s))
    return {};
  const auto trimmed = text::trim(s);
  if (trimmed.size() >= 2 && trimmed.front() == trimmed.back() &&
      (trimmed.front() == '"' || trimmed.front() == '\'')) {
    const auto inner = trimmed.substr(1, trimmed.size() - 2);
    if (is_member(inner))
      return std::string{inner};
  }
  const auto dense = text::without_spaces(s);
  if (dense.size() == s.size())
    return {};
  auto found = std::optional<std::string>{};
  for (const auto& m : members) {
    if (text::without_spaces(text::view(m.get_string())) != dense)
      continue;
    if (found)
      return {};
    found = std::string{text::view(m.get_string())};
  }
  return found;
}

json::value coerce_in(json::value v, const json::value& schema, int depth);

json::value coerce_member(std::string_view key, json::value v, const json::value& schema,
                          int depth) {
  const auto* properties = schema::properties(schema);
  const auto* own = properties ? properties->if_contains(key) : nullptr;
  const auto patterns = schema::pattern_schemas(schema, key);
  if (own)
    v = coerce_in(std::move(v), *own, depth);
  for (const auto* pattern : patterns)
    v = coerce_in(std::move(v), *pattern, depth);
  if (own || !patterns.empty())
    return v;
  const auto* more = schema::member(schema, "additionalProperties");
  if (more == nullptr)
    return guess(std::move(v), depth);
  return more->is_object() ? coerce_in(std::move(v), *more, depth) : v;
}

json::value coerce_object(json::object o, const json::value& schema, int depth) {
  rename_member(o, schema);
  for (auto& member : o)
    member.value() =
        coerce_member(text::view(member.key()), std::move(member.value()), schema, depth + 1);
  return o;
}

std::vector<std::string_view> split(std::string_view s) {
  const auto border = s.find('\n') != s.npos ? '\n' : ',';
  auto pieces = std::vector<std::string_view>{};
  for (;;) {
    const auto end = s.find(border);
    if (const auto piece = text::trim(s.substr(0, end)); !piece.empty())
      pieces.push_back(piece);
    if (end == s.npos)
      return pieces;
    s.remove_prefix(end + 1);
  }
}

json::value coerce_items(json::array items, const json::value& schema, int depth) {
  const auto* prefix = schema::member(schema, "prefixItems");
  const auto* each = schema::member(schema, "items");
  const auto by_place = prefix && prefix->is_array() && prefix->get_array().size() == items.size();
  for (auto i = std::size_t{0}; i < items.size(); ++i) {
    if (by_place)
      items[i] = coerce_in(std::move(items[i]), prefix->get_array()[i], depth + 1);
    else if (each)
      items[i] = coerce_in(std::move(items[i]), *each, depth + 1);
    else
      items[i] = guess(std::move(items[i]), depth + 1);
  }
  return items;
}

/// A text for a list: JSON, or pieces between line ends or commas. Nothing: it is JSON, but no
/// list.
std::optional<json::value> list_of(std::string_view s, const json::value& schema, int depth) {
  const auto trimmed = text::trim(s);
  if (auto parsed = parse_lenient_json(trimmed)) {
    if (!parsed->is_array())
      return {};
    return coerce_items(std::move(parsed->get_array()), schema, depth);
  }
  if (auto parsed = quoted_json_of(trimmed, '['))
    return coerce_items(std::move(parsed->get_array()), schema, depth);
  auto items = json::array{};
  for (const auto piece : split(trimmed))
    items.emplace_back(json::string_view{piece.data(), piece.size()});
  return coerce_items(std::move(items), schema, depth);
}

json::value coerce_string(json::value v, const json::value& schema, int depth) {
  const auto s = text::view(v.get_string());
  const auto trimmed = text::trim(s);
  switch (schema::kind_of(schema)) {
  case kind::object:
    if (auto parsed = quoted_json_of(trimmed, '{'))
      return coerce_object(std::move(parsed->get_object()), schema, depth + 1);
    break;
  case kind::array:
    if (auto list = list_of(s, schema, depth))
      return std::move(*list);
    break;
  case kind::boolean:
    if (const auto b = text::boolean_of(trimmed))
      return *b;
    break;
  case kind::number:
  case kind::integer:
    if (const auto d = text::number_of(trimmed))
      return text::number_value(*d);
    break;
  default:
    break;
  }
  if (const auto member = enum_member(s, schema))
    return json::value(*member);
  return v;
}

bool fits(const json::value& v, kind k) {
  switch (k) {
  case kind::string:
    return v.is_string();
  case kind::boolean:
    return v.is_bool();
  case kind::integer:
    return v.is_int64() || v.is_uint64();
  default:
    return v.is_number();
  }
}

json::value coerce_to_list(json::value v, const json::value& schema, int depth) {
  const auto* each = schema::member(schema, "items");
  auto items = json::array{};
  if (auto* o = v.if_object()) {
    if (auto found = items_of(*o, each ? schema::unwrap(*each) : json::value{}))
      return coerce_items(std::move(*found), schema, depth);
    if (each && schema::kind_of(*each) == kind::array) {
      items.push_back(std::move(v));
      return items;
    }
  } else if (const auto* prefix = schema::member(schema, "prefixItems");
             prefix && prefix->is_array() && !prefix->get_array().empty()) {
    items.push_back(coerce_in(std::move(v), prefix->get_array().front(), depth + 1));
    return items;
  }
  items.push_back(each ? coerce_in(std::move(v), *each, depth + 1)
                       : guess(std::move(v), depth + 1));
  return items;
}

json::value coerce_in(json::value v, const json::value& wrapped, int depth) {
  const auto& schema = schema::unwrap(wrapped);
  if (depth > depth_max)
    return v;
  if (!schema.is_object())
    return guess(std::move(v), depth);
  if (const auto* all = schema::member(schema, "allOf"); all && all->is_array())
    for (const auto& part : all->get_array())
      if (part.is_object() && schema::is_closed(part))
        v = coerce_in(std::move(v), part, depth + 1);
  if (v.is_null() && schema::allows_null(schema))
    return v;
  const auto k = schema::kind_of(schema);
  if (v.is_string())
    return coerce_string(std::move(v), schema, depth);
  if (k == kind::array)
    return v.is_array() ? coerce_items(std::move(v.get_array()), schema, depth)
                        : coerce_to_list(std::move(v), schema, depth);
  if (k == kind::string && v.is_bool())
    return json::value(v.get_bool() ? "true" : "false");
  if (k == kind::string && v.is_number())
    return json::value(text::number_text(v.to_number<double>()));
  auto* o = v.if_object();
  if (o && k == kind::object)
    return coerce_object(std::move(*o), schema, depth);
  if (o && schema::is_scalar(k) && o->size() == 1) {
    const auto& only = o->begin()->value();
    if (!only.is_structured() && !only.is_null())
      if (auto inner = coerce_in(only, schema, depth + 1); fits(inner, k))
        return inner;
  }
  return v;
}

} // namespace

json::value coerce(json::value v, const json::value& schema) {
  return coerce_in(std::move(v), schema, 0);
}

} // namespace superstep

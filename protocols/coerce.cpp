// SPDX-License-Identifier: Apache-2.0
// Coerces arguments to their JSON Schema. Follows the coercion of @ai-sdk-tool/parser 4.1.26; the
// recorded cases of kind proto.coerce check it.
#include "models/json_schema.hpp"
#include "protocols/protocol_parts.hpp"
#include "protocols/relaxed_json.hpp"
#include "protocols/text.hpp"

#include <superstep/base/json.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace superstep {

namespace {

using schema::kind;

bool all_digits(std::string_view key) {
  constexpr auto digits_max = std::size_t{15}; // exact as a double
  return !key.empty() && key.size() <= digits_max && std::ranges::all_of(key, text::is_digit);
}

/// Converts `{"0": a, "1": b}` to the list of its values, ordered by key. Nullopt if a key is not a
/// number.
std::optional<json::array> numbered(const json::object& o) {
  auto members = std::vector<std::pair<long long, const json::value*>>{};
  for (const auto& member : o) {
    const auto key = text::view(member.key());
    if (!all_digits(key))
      return {};
    members.emplace_back(std::stoll(std::string{key}), &member.value());
  }
  std::ranges::stable_sort(members, {}, [](const auto& m) { return m.first; });
  auto items = json::array{};
  for (const auto& [number, value] : members)
    items.push_back(*value);
  return items;
}

/// Converts columns to rows: `{a: [1, 2], b: [3, 4]}` becomes `[{a: 1, b: 3}, {a: 2, b: 4}]`.
/// Nullopt unless the items are objects without additional members, and the columns are lists of
/// equal length for properties that are neither lists nor objects. At least two columns and two
/// rows are needed.
std::optional<json::array> rows(const json::object& o, const json::value& each) {
  const auto* properties = schema::closed_properties(each);
  if (o.size() < 2 || properties == nullptr)
    return {};
  auto length = std::size_t{0};
  for (const auto& member : o) {
    const auto* column = member.value().if_array();
    const auto* property = properties->if_contains(member.key());
    if (!column || column->size() < 2 || (length != 0 && column->size() != length) || !property)
      return {};
    if (const auto k = schema::kind_of(*property); k == kind::array || k == kind::object)
      return {};
    length = column->size();
  }
  auto items = json::array{};
  for (auto row = std::size_t{0}; row < length; ++row) {
    auto& item = items.emplace_back(json::object{}).get_object();
    for (const auto& member : o)
      item.emplace(member.key(), member.value().get_array()[row]);
  }
  return items;
}

/// Converts an object that the model wrote in place of a list. The known forms are `{item: …}`,
/// `{0: …, 1: …}`, and columns instead of rows. Nullopt for other objects.
/// @param schema of the list
std::optional<json::array> items_of(const json::object& o, const json::value& schema) {
  if (const auto* item = o.if_contains("item"); item)
    return item->is_array() ? item->get_array() : json::array{*item};
  if (o.empty())
    return {};
  if (auto items = numbered(o))
    return items;
  const auto* prefix = schema::member(schema, "prefixItems");
  const auto* each = schema::member(schema, "items");
  if (each == nullptr || (prefix && prefix->is_array() && !prefix->get_array().empty()))
    return {};
  return rows(o, schema::unwrap(*each));
}

bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}

char upper(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

/// Converts `user_name` to `userName`. A leading underscore is removed.
std::string snake_to_camel(std::string_view name) {
  const auto first = name.find_first_not_of('_');
  if (first == name.npos)
    return std::string{name};
  name.remove_prefix(first);
  auto out = std::string{ascii_lower(name.front())};
  for (auto i = std::size_t{1}; i < name.size(); ++i) {
    const auto next = i + 1 < name.size() ? name[i + 1] : '\0';
    const auto begins_word = text::is_digit(next) || is_upper(next) || (next >= 'a' && next <= 'z');
    if (name[i] == '_' && begins_word)
      out += upper(name[++i]);
    else
      out += name[i];
  }
  return out;
}

/// Converts `userName` to `user_name`. Adjacent capitals are one word: `userID` is `user_id`.
std::string camel_to_snake(std::string_view name) {
  auto out = std::string{};
  for (auto i = std::size_t{0}; i < name.size(); ++i) {
    const auto before = i > 0 ? name[i - 1] : '\0';
    if (is_upper(name[i]) && (text::is_digit(before) || (before >= 'a' && before <= 'z')))
      out += '_';
    out += ascii_lower(name[i]);
  }
  return out;
}

bool differ_by_case_style(std::string_view from, std::string_view to) {
  if (from.find('_') != from.npos)
    return snake_to_camel(from) == to;
  return to.find('_') != to.npos && camel_to_snake(from) == to;
}

bool differ_by_s(std::string_view a, std::string_view b) {
  if (a.size() < b.size())
    std::swap(a, b);
  return b.size() > 1 && a.size() == b.size() + 1 && a.ends_with('s') && a.starts_with(b);
}

/// Renames a misspelled member: `user_name` where the schema requires `userName`, or `tag` where it
/// requires the list `tags`. Renames only if the schema forbids additional members, exactly one
/// required member is missing, and exactly one member is unknown.
void rename_member(json::object& o, const json::value& schema) {
  const auto* properties = schema::closed_properties(schema);
  const auto* required = schema::member(schema, "required");
  if (properties == nullptr || !required || !required->is_array())
    return;
  auto missing = std::string{};
  auto missing_count = 0;
  for (const auto& name : required->get_array())
    if (name.is_string() && !o.contains(name.get_string())) {
      missing = text::view(name.get_string());
      ++missing_count;
    }
  const json::key_value_pair* stray = nullptr;
  auto stray_count = 0;
  for (const auto& member : o) {
    if (properties->contains(member.key()))
      continue;
    const auto patterns = schema::pattern_schemas(schema, text::view(member.key()));
    if (std::ranges::all_of(patterns, [](const auto* p) { return schema::is_false(*p); })) {
      stray = &member;
      ++stray_count;
    }
  }
  if (missing_count != 1 || stray_count != 1)
    return;
  const auto* target = properties->if_contains(missing);
  const auto from = text::view(stray->key());
  const auto list = target && schema::kind_of(*target) == kind::array && stray->value().is_array();
  if (target == nullptr ||
      !(differ_by_case_style(from, missing) || (list && differ_by_s(from, missing))))
    return;
  // Keeps the order of the members.
  auto renamed = json::object{};
  renamed.reserve(o.size());
  for (auto& member : o)
    renamed.emplace(&member == stray ? json::string_view{missing} : member.key(),
                    std::move(member.value()));
  o = std::move(renamed);
}

// Parsers bound the depth of values and schemas. This limit bounds the depth of JSON inside strings
// inside JSON.
constexpr auto depth_max = 512;

std::optional<json::value> json_of(std::string_view text, char open) {
  if (!text.starts_with(open))
    return {};
  if (auto parsed = parse_lenient_json(text))
    return std::move(*parsed);
  return {};
}

/// Parses JSON. If that fails, tries again with all single quotes replaced by double quotes.
std::optional<json::value> quoted_json_of(std::string_view text, char open) {
  if (auto parsed = json_of(text, open))
    return parsed;
  if (!text.starts_with(open) || text.find('\'') == text.npos)
    return {};
  auto requoted = std::string{text};
  std::ranges::replace(requoted, '\'', '"');
  return json_of(requoted, open);
}

/// Converts a string without a schema to a boolean, a number, a list or an object if the text looks
/// like one. The members of a list or an object are not converted.
json::value guess(json::value v) {
  auto* s = v.if_string();
  if (s == nullptr)
    return v;
  const auto trimmed = text::trim(text::view(*s));
  if (const auto b = text::boolean_of(trimmed))
    return *b;
  if (auto number = text::number_of(trimmed))
    return *std::move(number);
  const auto wrapped = (trimmed.starts_with('{') && trimmed.ends_with('}')) ||
                       (trimmed.starts_with('[') && trimmed.ends_with(']'));
  auto parsed = wrapped ? json_of(trimmed, trimmed.front()) : std::nullopt;
  return parsed ? std::move(*parsed) : v;
}

/// Returns the only enum member that equals the text without white space; null if no member or more
/// than one member does.
const json::string* member_without_spaces(std::string_view s, const json::array& members) {
  const auto dense = text::without_spaces(s);
  const json::string* found = nullptr;
  if (dense.size() == s.size())
    return found;
  for (const auto& m : members) {
    if (text::without_spaces(text::view(m.get_string())) != dense)
      continue;
    if (found != nullptr)
      return nullptr;
    found = &m.get_string();
  }
  return found;
}

/// Finds the enum member that the model meant: the text differs only in quotes around it or in
/// white space. Null if no member or more than one member fits, or if the text already is a member.
/// @param s the text without white space at its ends
const json::string* enum_member(std::string_view s, const json::value& schema) {
  const auto* list = schema::member(schema, "enum");
  if (list == nullptr || !list->is_array())
    return nullptr;
  const auto& members = list->get_array();
  if (!std::ranges::all_of(members, [](const auto& m) { return m.is_string(); }))
    return nullptr;
  const auto count = [&](std::string_view text) {
    return std::ranges::count_if(members,
                                 [&](const auto& m) { return text::view(m.get_string()) == text; });
  };
  if (count(s) > 0)
    return nullptr;
  const auto is_quoted =
      s.size() >= 2 && s.front() == s.back() && (s.front() == '"' || s.front() == '\'');
  const auto inner = is_quoted ? s.substr(1, s.size() - 2) : s;
  if (count(inner) == 1)
    return &std::ranges::find(members, json::string_view{inner.data(), inner.size()},
                              [](const auto& m) { return json::string_view{m.get_string()}; })
                ->get_string();
  const auto* found = member_without_spaces(s, members);
  return found != nullptr || !is_quoted ? found : member_without_spaces(inner, members);
}

json::value coerce_in(json::value v, const json::value& schema, int depth);

json::value coerce_member(std::string_view key, json::value v, const json::value& schema,
                          int depth) {
  const auto* properties = schema::properties(schema);
  const auto* own = properties ? properties->if_contains(key) : nullptr;
  const auto patterns = schema::pattern_schemas(schema, key);
  if (own && !own->is_bool())
    v = coerce_in(std::move(v), *own, depth);
  for (const auto* pattern : patterns)
    if (!pattern->is_bool())
      v = coerce_in(std::move(v), *pattern, depth);
  if (own || !patterns.empty())
    return v;
  const auto* more = schema::member(schema, "additionalProperties");
  if (more == nullptr)
    return guess(std::move(v));
  if (more->is_object())
    return coerce_in(std::move(v), *more, depth);
  return more->is_bool() ? v : guess(std::move(v));
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
      items[i] = guess(std::move(items[i]));
  }
  return items;
}

/// Converts a text to a list. JSON is parsed; other text is split at line ends or, if it has none,
/// at commas. Nullopt if the text is JSON but not a list.
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
    if (auto number = text::number_of(trimmed))
      return *std::move(number);
    break;
  default:
    break;
  }
  if (const auto* member = enum_member(trimmed, schema))
    return *member;
  return v;
}

bool fits(const json::value& v, kind k) {
  switch (k) {
  case kind::string:
    return v.is_string();
  case kind::boolean:
    return v.is_bool();
  case kind::integer:
    return v.is_number() && std::trunc(v.to_number<double>()) == v.to_number<double>();
  default:
    return v.is_number();
  }
}

/// Converts an object with one scalar member to this member, if the schema is that of a scalar and
/// the converted member fits.
std::optional<json::value> only_scalar(const json::object& o, const json::value& schema,
                                       int depth) {
  const auto k = schema::kind_of(schema);
  if (o.size() != 1 || !schema::is_scalar(k) || o.begin()->value().is_structured())
    return {};
  auto inner = coerce_in(o.begin()->value(), schema, depth + 1);
  return fits(inner, k) ? std::optional{std::move(inner)} : std::nullopt;
}

/// Removes a superfluous object around a list: `{user: [a, b]}` becomes `[a, b]`. `{user: {…}}`
/// becomes a list with the inner object or, if items are scalars, with its only value. Nullopt for
/// other objects, and if the item schema `each` allows a member with that key.
std::optional<json::array> unwrapped(const json::object& o, const json::value& each, int depth) {
  if (o.size() != 1 || schema::can_have(each, text::view(o.begin()->key())))
    return {};
  const auto& inner = o.begin()->value();
  auto items = json::array{};
  if (const auto* list = inner.if_array()) {
    for (const auto& item : *list)
      items.push_back(coerce_in(item, each, depth + 1));
    return items;
  }
  const auto* object = inner.if_object();
  if (object == nullptr)
    return {};
  auto scalar = only_scalar(*object, each, depth + 1);
  items.push_back(scalar ? std::move(*scalar) : coerce_in(inner, each, depth + 1));
  return items;
}

json::value coerce_to_list(json::value v, const json::value& schema, int depth) {
  const auto* each = schema::member(schema, "items");
  auto items = json::array{};
  if (auto* o = v.if_object()) {
    if (auto found = items_of(*o, schema))
      return coerce_items(std::move(*found), schema, depth);
    if (auto found = each ? unwrapped(*o, *each, depth) : std::nullopt)
      return std::move(*found);
    if (each && schema::kind_of(*each) == kind::array) {
      items.push_back(std::move(v));
      return items;
    }
  } else if (const auto* prefix = schema::member(schema, "prefixItems");
             prefix && prefix->is_array() && !prefix->get_array().empty()) {
    items.push_back(coerce_in(std::move(v), prefix->get_array().front(), depth + 1));
    return items;
  }
  items.push_back(each ? coerce_in(std::move(v), *each, depth + 1) : guess(std::move(v)));
  return items;
}

json::value coerce_in(json::value v, const json::value& wrapped, int depth) {
  const auto& schema = schema::unwrap(wrapped);
  if (depth > depth_max)
    return v;
  if (schema.is_array())
    return v; // a list of schemas, such as `items` before draft 2020-12, has no type
  if (!schema.is_object())
    return guess(std::move(v));
  if (const auto* all = schema::member(schema, "allOf"); all && all->is_array())
    for (const auto& part : all->get_array())
      if (schema::closed_properties(schema::unwrap(part)) != nullptr)
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
    return json::value(text::number_text(v));
  auto* o = v.if_object();
  if (o && k == kind::object)
    return coerce_object(std::move(*o), schema, depth);
  auto scalar = o ? only_scalar(*o, schema, depth) : std::nullopt;
  return scalar ? std::move(*scalar) : v;
}

} // namespace

json::value coerce(json::value v, const json::value& schema) {
  return coerce_in(std::move(v), schema, 0);
}

} // namespace superstep

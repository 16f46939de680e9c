// SPDX-License-Identifier: Apache-2.0
// Parses arguments written as XML elements by the schema of the tool, for morph_xml. Follows RXML
// of @ai-sdk-tool/parser 4.1.26.
#include "protocols/elements/tool_xml.hpp"

#include "models/json_schema.hpp"
#include "protocols/elements/xml_scanner.hpp"
#include "protocols/protocol_parts.hpp"
#include "protocols/text.hpp"

#include <algorithm>
#include <utility>

namespace superstep {
namespace {

constexpr std::size_t schema_depth_max = 64;

const json::object* properties_of(const json::value& schema) {
  const auto* object = schema.if_object();
  const auto* properties = object ? object->if_contains("properties") : nullptr;
  return properties ? properties->if_object() : nullptr;
}

bool is_string_type(const json::value& schema) {
  return schema::kind_of(schema) == schema::kind::string;
}

/// Collects the names of all string properties at any level of the schema.
void collect_strings(const json::value& wrapped, raw_names& into, std::size_t depth) {
  const auto& schema = schema::unwrap(wrapped);
  const auto kind = schema::kind_of(schema);
  if (depth > schema_depth_max)
    return;
  const auto* properties = kind == schema::kind::object ? properties_of(schema) : nullptr;
  if (properties != nullptr)
    for (const auto& property : *properties) {
      if (is_string_type(property.value()))
        into.emplace(property.key());
      else
        collect_strings(property.value(), into, depth + 1);
    }
  if (kind != schema::kind::array)
    return;
  if (const auto* items = schema::member(schema, "items"))
    collect_strings(*items, into, depth + 1);
  if (const auto* prefix = schema::member(schema, "prefixItems"); prefix && prefix->is_array())
    for (const auto& item : prefix->get_array())
      collect_strings(item, into, depth + 1);
}

/// Removes an element around all arguments, such as `<arguments>…</arguments>`. Returns `xml`
/// itself if there is no such element or it is a parameter.
std::string_view without_root(std::string_view xml, const json::object* properties) {
  auto open = xml_tag{};
  if (!xml.starts_with('<') || !read_tag(xml, 0, open) || open.is_close || open.is_empty ||
      properties == nullptr || properties->contains(open.name))
    return xml;
  // The element contains all arguments only if its close tag is at the end of the text.
  auto depth = std::size_t{0};
  auto tag = xml_tag{};
  for (auto at = std::size_t{0}; (at = xml.find('<', at)) != xml.npos; ++at) {
    if (!read_tag(xml, at, tag) || tag.name != open.name || tag.is_empty)
      continue;
    depth = tag.is_close ? depth - 1 : depth + 1;
    if (depth == 0)
      return tag.end == xml.size() ? xml.substr(open.end, tag.begin - open.end) : xml;
  }
  return xml;
}

bool has_type(const json::value& wrapped, std::string_view type) {
  const auto* own = schema::member(schema::unwrap(wrapped), "type");
  return own != nullptr && own->is_string() && own->get_string() == type;
}

/// Returns the text with only the last of the elements `<name>`.
std::string with_last_only(std::string xml, std::string_view name) {
  const auto open = '<' + std::string{name} + '>';
  const auto close = "</" + std::string{name} + '>';
  auto out = std::string{};
  auto copied = std::size_t{0};
  auto begin = std::string::npos; // begin and end of the previous element
  auto end = std::size_t{0};
  for (auto at = xml.find(open); at != xml.npos; at = xml.find(open, end)) {
    const auto last = xml.find(close, at + open.size());
    if (last == xml.npos)
      break;
    if (begin != xml.npos) {
      out.append(xml, copied, begin - copied);
      copied = end;
    }
    begin = at;
    end = last + close.size();
  }
  return out.append(xml, copied, xml.npos);
}

/// Returns the text with only the last element of each string property.
std::string without_repeated(std::string xml, const json::object& properties) {
  for (const auto& property : properties)
    if (has_type(property.value(), "string"))
      xml = with_last_only(std::move(xml), property.key());
  return xml;
}

/// Converts texts to objects where the schema requires objects in a list. Models write such objects
/// as XML inside an element whose content was not parsed.
void read_items(json::value& value, const json::value& wrapped) {
  const auto* properties = properties_of(schema::unwrap(wrapped));
  auto* members = value.if_object();
  if (members == nullptr || properties == nullptr)
    return;
  for (auto& member : *members) {
    const auto* property = properties->if_contains(member.key());
    if (property == nullptr)
      continue;
    if (has_type(*property, "object"))
      read_items(member.value(), *property);
    const auto* items = schema::member(schema::unwrap(*property), "items");
    auto* list = member.value().if_array();
    if (list == nullptr || items == nullptr || !has_type(*property, "array") ||
        !has_type(*items, "object"))
      continue;
    for (auto& item : *list)
      if (const auto* text = item.if_string()) {
        if (auto read = parse_tool_xml(std::string_view{*text}, schema::unwrap(*items), false))
          if (!read->is_string())
            item = std::move(*read);
      } else {
        read_items(item, *items);
      }
  }
}

/// Decodes the entities in all texts of a value.
void decode_texts(json::value& v) {
  if (const auto* text = v.if_string(); text != nullptr && text->find('&') != text->npos)
    v = decode_entities(text::view(*text));
  if (auto* list = v.if_array())
    for (auto& item : *list)
      decode_texts(item);
  if (auto* members = v.if_object())
    for (auto& member : *members)
      decode_texts(member.value());
}

json::value trimmed(json::value v) {
  if (const auto* text = v.if_string())
    return json::value(json::string{text::trim(text::view(*text))});
  return v;
}

/// Returns the text beside inner elements or attributes; other values are returned themselves.
json::value without_markup(json::value v) {
  auto* members = v.if_object();
  auto* text = members != nullptr ? members->if_contains("#text") : nullptr;
  return trimmed(text != nullptr ? std::exchange(*text, {}) : std::move(v));
}

/// Returns a list item. Numbers are not texts, unlike in a tuple.
json::value item_of(json::value v) {
  auto item = without_markup(std::move(v));
  if (const auto* text = item.if_string())
    if (auto number = text::number_of(text::view(*text)))
      return std::move(*number);
  return item;
}

/// Whether the members are named 0, 1, 2, … in any order. Models write a list in this form, too.
bool is_tuple(const json::object& members) {
  for (auto i = std::size_t{0}; i < members.size(); ++i)
    if (!members.contains(std::to_string(i)))
      return false;
  return !members.empty();
}

} // namespace

json::value argument_of(json::value v, const json::value* property) {
  if (auto* list = v.if_array()) {
    for (auto& each : *list)
      each = without_markup(std::move(each));
    return v;
  }
  v = without_markup(std::move(v));
  auto* members = v.if_object();
  if (members == nullptr)
    return v;
  auto list = json::array{};
  if (members->size() == 1 && members->contains("item")) {
    auto& items = members->at("item");
    if (auto* several = items.if_array()) {
      for (auto& item : *several)
        list.push_back(item_of(std::move(item)));
      return json::value(std::move(list));
    }
    auto only = item_of(std::move(items));
    const auto is_typed = property != nullptr && schema::kind_of(*property) != schema::kind::none;
    if (is_typed || only.is_structured())
      return only;
    list.push_back(std::move(only));
    return json::value(std::move(list));
  }
  if (!is_tuple(*members))
    return v;
  for (auto i = std::size_t{0}; i < members->size(); ++i)
    list.push_back(without_markup(std::move(members->at(std::to_string(i)))));
  return json::value(std::move(list)); // parentheses, because braces would create a list in a list
}

bool keeps_last_text(const json::value& schema) {
  const auto* properties = properties_of(schema);
  const auto* command = properties != nullptr ? properties->if_contains("command") : nullptr;
  return command != nullptr && has_type(*command, "array");
}

xml_names::xml_names(const json::value& schema) {
  collect_strings(schema, raw, 0);
  if (const auto* properties = properties_of(schema))
    for (const auto& property : *properties)
      if (is_string_type(property.value()))
        once.emplace(property.key());
}

result<json::value> parse_tool_xml(std::string_view xml, const json::value& schema, bool repair) {
  return parse_tool_xml(xml, schema, xml_names{schema}, repair);
}

namespace {

/// Parses the arguments without repair of tags.
result<json::value> read_arguments(std::string_view xml, const json::value& schema,
                                   const xml_names& names) {
  const auto* properties = properties_of(schema);
  xml = without_root(text::trim(xml), properties);
  if (repeats_element(xml, names.once))
    return error{errc::parse_failed, "the arguments repeat the element of a text parameter"};
  auto members = read_xml(xml, names.raw);
  if (!members)
    return members.error();
  auto missing = names.once;
  for (auto& member : *members) {
    const auto name = std::string{member.key()};
    missing.erase(name);
    if (names.once.contains(name) && member.value().is_string())
      continue;
    const auto* property = properties != nullptr ? properties->if_contains(name) : nullptr;
    member.value() = argument_of(std::move(member.value()), property);
  }
  if (!missing.empty())
    for (auto& found : outermost_elements(xml, missing))
      members->emplace(found.key(), std::move(found.value()));
  // Parentheses, because braces would create a list with one element.
  auto value = json::value(std::move(*members));
  if (auto& object = value.get_object();
      object.size() == 1 && properties != nullptr && !properties->contains(object.begin()->key())) {
    auto only = std::move(object.begin()->value());
    value = std::move(only);
  }
  auto arguments = coerce(std::move(value), schema);
  decode_texts(arguments);
  return arguments;
}

} // namespace

result<json::value> parse_tool_xml(std::string_view xml, const json::value& schema,
                                   const xml_names& names, bool repair) {
  auto arguments = read_arguments(xml, schema, names);
  if (!repair)
    return arguments;
  if (!arguments) {
    // White space at the end belongs to an element without a close tag, so it must not be removed
    // before that tag is added.
    auto balanced = balance_xml(xml);
    arguments = read_arguments(balanced, schema, names);
    if (!arguments && keeps_last_text(schema))
      arguments = read_arguments(without_repeated(std::move(balanced), *properties_of(schema)),
                                 schema, names);
  }
  if (arguments)
    read_items(*arguments, schema);
  return arguments;
}

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#include "protocols/coerce_schema.hpp"
#include "protocols/tool_xml_names.hpp"
#include "protocols/xml_reader.hpp"
#include "protocols/xml_scanner.hpp"

#include <superstep/protocols/coerce.hpp>
#include <superstep/protocols/tool_xml.hpp>

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

/// Names that are strings anywhere in the schema: what they hold is never read as markup.
void collect_strings(const json::value& schema, raw_names& into, std::size_t depth) {
  if (depth > schema_depth_max)
    return;
  if (const auto* list = schema.if_array())
    for (const auto& item : *list)
      collect_strings(item, into, depth + 1);
  if (const auto* properties = properties_of(schema))
    for (const auto& property : *properties)
      if (is_string_type(property.value()))
        into.emplace(property.key());
  if (const auto* object = schema.if_object())
    for (const auto& member : *object)
      collect_strings(member.value(), into, depth + 1);
}

/// The inside of the one element that holds everything, when it is no parameter itself.
std::string_view without_root(std::string_view xml, const json::object* properties) {
  auto open = xml_tag{};
  if (!xml.starts_with('<') || !read_tag(xml, 0, open) || open.is_close || open.is_empty ||
      (properties != nullptr && properties->contains(open.name)))
    return xml;
  // The element holds all only if the tag that closes it is the last thing in the text.
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

/// Returns the text without the elements `<name>` but the last.
std::string with_last_only(std::string xml, std::string_view name) {
  const auto open = '<' + std::string{name} + '>';
  const auto close = "</" + std::string{name} + '>';
  auto out = std::string{};
  auto copied = std::size_t{0};
  auto begin = std::string::npos; // of the element before
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

/// Returns the text with the last of each text property only.
std::string without_repeated(std::string xml, const json::object& properties) {
  for (const auto& property : properties)
    if (has_type(property.value(), "string"))
      xml = with_last_only(std::move(xml), property.key());
  return xml;
}

/// Items that are texts where closed objects belong are read as elements once more: models write
/// lists of objects as text in one element.
void read_items(json::value& arguments, const json::object* properties) {
  auto* members = arguments.if_object();
  if (members == nullptr || properties == nullptr)
    return;
  for (auto& member : *members) {
    auto* list = member.value().if_array();
    const auto* property = properties->if_contains(member.key());
    const auto* items = property != nullptr ? schema::member(*property, "items") : nullptr;
    if (list == nullptr || items == nullptr || !schema::is_closed(*items) ||
        schema::kind_of(*items) != schema::kind::object)
      continue;
    for (auto& item : *list)
      if (const auto* text = item.if_string())
        if (auto read = parse_tool_xml(std::string_view{*text}, *items, false))
          item = std::move(*read);
  }
}

} // namespace

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

result<json::value> parse_tool_xml(std::string_view xml, const json::value& schema,
                                   const xml_names& names, bool repair) {
  const auto* properties = properties_of(schema);
  const auto inside = without_root(trim_xml(xml), properties);
  auto members = read_xml(inside, names.raw, names.once);
  if (!members && repair) {
    auto balanced = balance_xml(inside);
    members = read_xml(balanced, names.raw, names.once);
    if (!members && keeps_last_text(schema))
      members = read_xml(without_repeated(std::move(balanced), *properties), names.raw, names.once);
  }
  if (!members)
    return members.error();
  // Not braces: they would make a list of one.
  auto value = json::value(std::move(*members));
  if (auto& object = value.get_object(); object.size() == 1 && properties != nullptr &&
                                         !properties->contains(object.begin()->key()) &&
                                         object.begin()->value().is_object()) {
    auto only = std::move(object.begin()->value());
    value = std::move(only);
  }
  auto arguments = coerce(std::move(value), schema);
  if (repair)
    read_items(arguments, properties);
  return arguments;
}

} // namespace superstep

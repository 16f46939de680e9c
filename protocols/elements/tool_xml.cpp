// SPDX-License-Identifier: Apache-2.0
// Parses arguments written as XML elements, for morph_xml. Contains the parser, the repair of
// unbalanced tags, and the search for properties whose text must not be parsed as XML. Follows RXML
// of @ai-sdk-tool/parser 4.1.26.
#include "protocols/elements/tool_xml.hpp"

#include "models/json_schema.hpp"
#include "protocols/elements/xml_scanner.hpp"
#include "protocols/protocol_parts.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <vector>

namespace superstep {
namespace {

// Maximum number of elements in one call. An element needs far more memory than its text.
constexpr std::size_t elements_max = 100'000;

error malformed() {
  return error{errc::parse_failed,
               "the arguments are not valid XML: a tag has no partner or is invalid, an element is "
               "repeated, or there are too many or too deeply nested elements"};
}

json::value number_or_text(std::string text) {
  auto whole = std::int64_t{};
  const auto* end = text.data() + text.size();
  if (auto r = std::from_chars(text.data(), end, whole); r.ec == std::errc{} && r.ptr == end)
    return whole;
  auto real = double{};
  if (auto r = std::from_chars(text.data(), end, real, std::chars_format::fixed);
      r.ec == std::errc{} && r.ptr == end && text.find_first_of("in") == std::string::npos)
    return real;
  return json::string{text};
}

void add_member(json::object& into, std::string_view name, json::value value, bool again) {
  auto* present = into.if_contains(name);
  if (present == nullptr)
    into.emplace(name, std::move(value));
  else if (again)
    present->get_array().push_back(std::move(value));
  else
    *present = json::array{std::move(*present), std::move(value)};
}

/// The content of an open element that has been parsed so far.
struct element {
  std::string name;
  json::object members;                     // inner elements and attributes by name
  std::unordered_set<std::string> repeated; // names of members that have become lists
  std::string text;                         // text outside the inner elements
};

void add(element& to, std::string_view name, json::value value) {
  const auto is_new = !to.members.contains(name);
  auto again = !is_new && to.repeated.contains(std::string{name});
  add_member(to.members, name, std::move(value), again);
  if (!is_new)
    to.repeated.emplace(name);
}

void add_attributes(element& to, std::string_view attributes) {
  while (!(attributes = trim_xml(attributes)).empty()) {
    const auto equals = attributes.find('=');
    const auto name = trim_xml(attributes.substr(0, equals));
    auto value = std::string_view{};
    attributes.remove_prefix(equals == attributes.npos ? attributes.size() : equals + 1);
    attributes = trim_xml(attributes);
    if (!attributes.empty() && (attributes.front() == '"' || attributes.front() == '\'')) {
      const auto end = attributes.find(attributes.front(), 1);
      value = attributes.substr(1, end == attributes.npos ? end : end - 1);
      attributes.remove_prefix(end == attributes.npos ? attributes.size() : end + 1);
    } else {
      const auto end = std::min(attributes.find(' '), attributes.size());
      value = attributes.substr(0, end);
      attributes.remove_prefix(end);
    }
    if (!name.empty())
      to.members.insert_or_assign("@_" + std::string{name}, decode_entities(value));
  }
}

/// Returns the list of `<item>` elements. Numbers among them are not texts, unlike in a tuple.
json::value list_of(json::value& items) {
  auto list = items.is_array() ? std::move(items.get_array()) : json::array{std::move(items)};
  for (auto& item : list)
    if (auto* text = item.if_string(); text != nullptr && !text->empty())
      item = number_or_text(std::string{*text});
  return list;
}

/// Whether the members are named 0, 1, 2, … in order. Models write a list in this form, too.
bool is_tuple(const json::object& members) {
  auto i = std::size_t{0};
  for (const auto& member : members)
    if (member.key() != std::to_string(i++))
      return false;
  return !members.empty();
}

/// Returns the value of an element: a text, an object, or a list if its inner elements are `<item>`
/// or numbered.
json::value value_of(element& e) {
  const auto text = trim_xml(e.text);
  if (e.members.empty())
    return json::string{text};
  if (!text.empty())
    e.members.emplace("#text", text);
  if (e.members.size() == 1 && e.members.begin()->key() == "item")
    return list_of(e.members.begin()->value());
  if (!is_tuple(e.members))
    return std::move(e.members);
  auto tuple = json::array{};
  for (auto& member : e.members)
    tuple.push_back(std::move(member.value()));
  return json::value(std::move(tuple)); // parentheses, because braces would create a list in a list
}

/// Finds the close tag of an element whose content is not parsed. Nested elements with the same
/// name are skipped.
bool find_close(std::string_view xml, xml_sections& sections, const xml_tag& open, xml_tag& close) {
  auto depth = std::size_t{1};
  auto at = open.end;
  while ((at = xml.find('<', at)) != xml.npos) {
    if (const auto end = sections.end_of(at); end > at) {
      at = end;
      continue;
    }
    if (!read_tag(xml, at, close) || close.name != open.name) {
      ++at;
      continue;
    }
    at = close.end;
    if (close.is_close && --depth == 0)
      return true;
    if (!close.is_close && !close.is_empty)
      ++depth;
  }
  return false;
}

/// Skips a comment, CDATA section or declaration, and appends the content of a CDATA section to
/// `text`. Returns the position after it; npos if it has no end.
std::size_t read_special(std::string_view xml, std::size_t at, std::string& text) {
  const auto rest = xml.substr(at);
  const auto is_data = rest.starts_with("<![CDATA[");
  const auto mark = std::string_view{is_data ? "]]>" : rest.starts_with("<!--") ? "-->" : ">"};
  const auto end = xml.find(mark, at + 2);
  if (end == xml.npos)
    return end;
  if (is_data)
    text += xml.substr(at + 9, end - at - 9);
  return end + mark.size();
}

} // namespace

result<json::object> read_xml(std::string_view xml, const raw_names& raw,
                              const raw_names& names_once) {
  auto open = std::vector<element>(1);
  auto sections = xml_sections{xml};
  auto at = std::size_t{0};
  auto elements = std::size_t{0};
  auto tag = xml_tag{};
  while (at < xml.size()) {
    const auto next = std::min(xml.find('<', at), xml.size());
    open.back().text += decode_entities(xml.substr(at, next - at));
    at = next;
    if (at == xml.size())
      break;
    if (at + 1 < xml.size() && (xml[at + 1] == '!' || xml[at + 1] == '?')) {
      at = read_special(xml, at, open.back().text);
      if (at == xml.npos)
        return malformed();
      continue;
    }
    if (!read_tag(xml, at, tag))
      return malformed();
    at = tag.end;
    if (tag.is_close) {
      if (open.size() == 1 || open.back().name != tag.name)
        return malformed();
      auto value = value_of(open.back());
      open.pop_back();
      add(open.back(), tag.name, std::move(value));
      continue;
    }
    if (++elements > elements_max)
      return malformed();
    const auto is_raw = raw.contains(std::string{tag.name});
    if (open.size() == 1 && open.back().members.contains(tag.name) &&
        names_once.contains(std::string{tag.name}))
      return malformed();
    if (is_raw && !tag.is_empty) {
      auto close = xml_tag{};
      if (!find_close(xml, sections, tag, close))
        return malformed();
      const auto verbatim = xml.substr(tag.end, close.begin - tag.end);
      add(open.back(), tag.name, json::string{decode_entities(verbatim)});
      at = close.end;
      continue;
    }
    open.push_back({.name = std::string{tag.name}, .members = {}, .repeated = {}, .text = {}});
    if (!is_raw)
      add_attributes(open.back(), tag.attributes);
    if (open.size() > xml_depth_max)
      return malformed();
    if (tag.is_empty) {
      auto value = value_of(open.back());
      open.pop_back();
      add(open.back(), tag.name, std::move(value));
    }
  }
  if (open.size() != 1)
    return malformed();
  return std::move(open.back().members);
}

std::string balance_xml(std::string_view xml) {
  auto out = std::string{};
  auto open = std::vector<std::string_view>{};
  auto sections = xml_sections{xml};
  auto tag = xml_tag{};
  for (auto at = std::size_t{0}; at < xml.size();) {
    const auto next = std::min(xml.find('<', at), xml.size());
    out += xml.substr(at, next - at);
    at = next;
    if (at == xml.size())
      break;
    if (const auto end = sections.end_of(at); end > at) {
      out += xml.substr(at, end - at);
      at = end;
      continue;
    }
    if (!read_tag(xml, at, tag)) {
      const auto c = at + 1 < xml.size() ? xml[at + 1] : ' ';
      out += c == '!' || c == '?' ? "<" : "&lt;";
      ++at;
      continue;
    }
    at = tag.end;
    if (!tag.is_close) {
      out += xml.substr(tag.begin, tag.end - tag.begin);
      if (!tag.is_empty && open.size() < xml_depth_max)
        open.push_back(tag.name);
      continue;
    }
    auto match = open.size();
    while (match > 0 && open[match - 1] != tag.name)
      --match;
    while (match > 0 && open.size() >= match) {
      out.append("</").append(open.back()).append(">");
      open.pop_back();
    }
  }
  for (; !open.empty(); open.pop_back())
    out.append("</").append(open.back()).append(">");
  return out;
}

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

/// Removes an element around all arguments, such as `<arguments>…</arguments>`. Returns `xml`
/// itself if there is no such element or it is a parameter.
std::string_view without_root(std::string_view xml, const json::object* properties) {
  auto open = xml_tag{};
  if (!xml.starts_with('<') || !read_tag(xml, 0, open) || open.is_close || open.is_empty ||
      (properties != nullptr && properties->contains(open.name)))
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

/// Parses list items that are strings although the schema requires objects. Models write such
/// objects as XML inside an element whose content was not parsed.
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
  const auto read = [&](std::string_view text) {
    return read_xml(without_root(trim_xml(text), properties), names.raw, names.once);
  };
  auto members = read(xml);
  if (!members && repair) {
    // White space at the end belongs to an element without a close tag, so it must not be removed
    // before that tag is added.
    auto balanced = balance_xml(xml);
    members = read(balanced);
    if (!members && keeps_last_text(schema))
      members = read(without_repeated(std::move(balanced), *properties));
  }
  if (!members)
    return members.error();
  // Parentheses, because braces would create a list with one element.
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

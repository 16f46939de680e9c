// SPDX-License-Identifier: Apache-2.0
// Writes calls and results as indented elements, for morph_xml and yaml_xml.
#include "protocols/elements/xml_layout.hpp"

#include "protocols/elements/xml_scanner.hpp"
#include "protocols/text.hpp"

#include <algorithm>

namespace superstep {

namespace {

std::string indent(std::size_t depth) {
  return std::string(2 * depth, ' ');
}

std::string scalar_text(const json::value& v) {
  if (v.is_null())
    return {};
  if (const auto* s = v.if_string())
    return std::string{text::view(*s)};
  if (v.is_number())
    return text::number_text(v);
  return to_text(v);
}

// The two writers below recurse into the value. Its depth is bounded because it was parsed with a
// limit.
void add_call_element(std::string& out, std::string_view name, const json::value& value,
                      std::size_t depth);

void add_call_members(std::string& out, const json::object& members, std::size_t depth) {
  for (const auto& member : members) {
    const auto key = text::view(member.key());
    if (key.starts_with('@'))
      continue;
    if (key == "#text") {
      out += indent(depth) + escape_text(scalar_text(member.value())) + '\n';
    } else if (const auto* list = member.value().if_array()) {
      for (const auto& item : *list)
        add_call_element(out, key, item, depth);
    } else {
      add_call_element(out, key, member.value(), depth);
    }
  }
}

std::string attributes_of(const json::object& members) {
  auto out = std::string{};
  for (const auto& member : members)
    if (const auto key = text::view(member.key()); key.size() > 1 && key.starts_with('@'))
      out += ' ' + std::string{key.substr(1)} + "=\"" +
             escape_attribute(scalar_text(member.value())) + '"';
  return out;
}

/// Whether any member is not an attribute. An empty list counts although nothing is written for it.
bool has_children(const json::object& members) {
  return std::ranges::any_of(
      members, [](const auto& member) { return !text::view(member.key()).starts_with('@'); });
}

void add_call_element(std::string& out, std::string_view name, const json::value& value,
                      std::size_t depth) {
  const auto tag = std::string{name};
  out += indent(depth) + '<' + tag;
  const auto* members = value.if_object();
  if (members != nullptr)
    out += attributes_of(*members);
  auto inside = std::string{};
  if (members != nullptr)
    add_call_members(inside, *members, depth + 1);
  else if (const auto* list = value.if_array())
    for (const auto& item : *list)
      add_call_element(inside, "item", item, depth + 1);
  const auto is_empty = members != nullptr ? !has_children(*members) : inside.empty();
  if (value.is_null() || (value.is_structured() && is_empty))
    out += "/>\n";
  else if (value.is_structured())
    out += ">\n" + inside + indent(depth) + "</" + tag + ">\n";
  else
    out += '>' + escape_text(scalar_text(value)) + "</" + tag + ">\n";
}

void add_result_element(std::string& out, std::string_view name, const json::value& value,
                        std::size_t depth) {
  const auto tag = std::string{name};
  out += indent(depth) + '<' + tag + '>';
  auto inside = std::string{};
  if (const auto* members = value.if_object())
    for (const auto& member : *members)
      add_result_element(inside, text::view(member.key()), member.value(), depth + 1);
  else if (const auto* list = value.if_array())
    for (const auto& item : *list)
      add_result_element(inside, "item", item, depth + 1);
  if (!value.is_structured())
    out += scalar_text(value);
  else if (!inside.empty())
    out += '\n' + inside + indent(depth);
  out += "</" + tag + ">\n";
}

} // namespace

std::string call_xml(std::string_view tool, const json::value& arguments) {
  auto out = std::string{};
  add_call_element(out, tool, arguments, 0);
  out.pop_back();
  return out;
}

std::string result_xml(std::string_view tool, const json::value& result) {
  auto out = "<tool_response>\n  <tool_name>" + std::string{tool} + "</tool_name>\n";
  add_result_element(out, "result", result, 1);
  return out + "</tool_response>";
}

} // namespace superstep

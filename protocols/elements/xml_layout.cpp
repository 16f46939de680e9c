// SPDX-License-Identifier: Apache-2.0
// Writes calls and results as indented elements, for morph_xml and yaml_xml.
#include "protocols/elements/xml_layout.hpp"

#include "protocols/elements/xml_scanner.hpp"
#include "protocols/text.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace superstep {

namespace {

std::string indent(std::size_t depth) {
  return std::string(2 * depth, ' ');
}

std::string scalar_text(const json::value& v) {
  return v.is_null() ? std::string{} : text::javascript_text(v);
}

/// The parts of an object: attributes, text and child elements.
struct element_parts {
  std::vector<std::pair<std::string_view, const json::value*>> attributes;
  std::optional<std::string> text;
  std::vector<const json::key_value_pair*> children;
};

void add_attribute(element_parts& parts, std::string_view name, const json::value& value) {
  if (name.empty())
    return;
  const auto found =
      std::ranges::find(parts.attributes, name, [](const auto& a) { return a.first; });
  if (found != parts.attributes.end())
    found->second = &value;
  else
    parts.attributes.emplace_back(name, &value);
}

element_parts parts_of(const json::object& members) {
  auto parts = element_parts{};
  for (const auto& member : members) {
    const auto key = text::view(member.key());
    const auto* attributes = key == "_attributes" ? member.value().if_object() : nullptr;
    if (key.starts_with('@'))
      add_attribute(parts, key.substr(1), member.value());
    else if (key == "#text" || key == "_text")
      parts.text = member.value().is_null() ? "null" : scalar_text(member.value());
    else if (attributes != nullptr)
      for (const auto& attribute : *attributes)
        add_attribute(parts, text::view(attribute.key()), attribute.value());
    else
      parts.children.push_back(&member);
  }
  if (parts.text && parts.text->empty())
    parts.text.reset();
  return parts;
}

/// Formats an attribute. A value with double quotes is written in single quotes; null has no value.
std::string attribute_text(std::string_view name, const json::value& value) {
  auto out = ' ' + std::string{name};
  if (value.is_null())
    return out;
  const auto text = scalar_text(value);
  const auto quote = text.find('"') == text.npos ? '"' : '\'';
  return out + '=' + quote + escape_attribute(text, quote) + quote;
}

// The writers below recurse into the value. Its depth is bounded because it was parsed with a
// limit.
void add_call_element(std::string& out, std::string_view name, const json::value& value,
                      std::size_t depth);

void add_call_object(std::string& out, std::string_view name, const json::object& members,
                     std::size_t depth) {
  const auto parts = parts_of(members);
  const auto tag = std::string{name};
  out += indent(depth) + '<' + tag;
  for (const auto& [attribute, value] : parts.attributes)
    out += attribute_text(attribute, *value);
  if (parts.children.empty()) {
    out += parts.text ? '>' + escape_text(*parts.text) + "</" + tag + ">\n" : "/>\n";
    return;
  }
  out += ">\n";
  if (parts.text)
    out += indent(depth + 1) + escape_text(*parts.text) + '\n';
  // An empty list counts as a child although nothing is written for it.
  for (const auto* child : parts.children)
    add_call_element(out, text::view(child->key()), child->value(), depth + 1);
  out += indent(depth) + "</" + tag + ">\n";
}

/// Appends one element, or for a list, one for each item. So a list in a list is flattened.
void add_call_element(std::string& out, std::string_view name, const json::value& value,
                      std::size_t depth) {
  if (const auto* list = value.if_array()) {
    for (const auto& item : *list)
      add_call_element(out, name, item, depth);
  } else if (const auto* members = value.if_object()) {
    add_call_object(out, name, *members, depth);
  } else {
    const auto tag = std::string{name};
    out += indent(depth) + '<' + tag;
    out += value.is_null() ? "/>\n" : '>' + escape_text(scalar_text(value)) + "</" + tag + ">\n";
  }
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
  if (out.ends_with('\n')) // an empty list has no element
    out.pop_back();
  return out;
}

std::string result_xml(std::string_view tool, const json::value& result) {
  auto out = "<tool_response>\n  <tool_name>" + std::string{tool} + "</tool_name>\n";
  add_result_element(out, "result", result, 1);
  return out + "</tool_response>";
}

} // namespace superstep

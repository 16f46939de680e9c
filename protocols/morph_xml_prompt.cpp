// SPDX-License-Identifier: Apache-2.0
#include "protocols/morph_xml_prompt.hpp"

#include "protocols/coerce_schema.hpp"
#include "protocols/coerce_text.hpp"

#include <algorithm>

namespace superstep::morph_xml {

namespace {

/// The type of a value as JavaScript names it.
std::string kind_of_value(const json::value& v) {
  if (v.is_string())
    return "string";
  if (v.is_number())
    return "number";
  return v.is_bool() ? "boolean" : "object";
}

std::string type_name(const json::value& schema) {
  if (const auto* type = schema::member(schema, "type")) {
    if (const auto* list = type->if_array()) {
      auto out = std::string{};
      for (const auto& each : *list)
        if (each.is_string())
          out += (out.empty() ? "" : " | ") + std::string{text::view(each.get_string())};
      return out;
    }
    if (type->is_string()) {
      auto name = std::string{text::view(type->get_string())};
      const auto* items = schema::member(schema, "items");
      if (name == "array" && items != nullptr)
        return "array<" + type_name(*items) + '>';
      const auto* format = schema::member(schema, "format");
      if (name == "string" && format != nullptr && format->is_string())
        name += " (" + std::string{text::view(format->get_string())} + ')';
      return name;
    }
  }
  const auto* members = schema::member(schema, "enum");
  if (members != nullptr && members->is_array() && !members->get_array().empty())
    return kind_of_value(members->get_array().front());
  if (const auto* only = schema::member(schema, "const"))
    return kind_of_value(*only);
  return "any";
}

/// The members of an enum; of many the first.
std::string enum_text(const json::array& members) {
  constexpr auto all_max = std::size_t{6};
  constexpr auto shown = std::size_t{5};
  auto out = std::string{"enum: ["};
  const auto count = members.size() > all_max ? shown : members.size();
  for (auto i = std::size_t{0}; i < count; ++i)
    out += (i == 0 ? "" : ", ") + to_text(members[i]);
  if (members.size() > all_max)
    out += ", ... (" + std::to_string(members.size()) + " total)";
  return out + ']';
}

std::string parameter_line(std::string_view name, const json::value& schema, bool required) {
  auto extras = std::string{};
  const auto add = [&](std::string_view extra) {
    extras += extras.empty() ? " - " : "; ";
    extras += extra;
  };
  if (const auto* members = schema::member(schema, "enum"); members && members->is_array())
    add(enum_text(members->get_array()));
  if (const auto* value = schema::member(schema, "default"))
    add("default: " + to_text(*value));
  if (const auto* about = schema::member(schema, "description"); about && about->is_string())
    add(text::view(about->get_string()));
  return "  - " + std::string{name} + " (" + type_name(schema) +
         (required ? ", required)" : ", optional)") + extras + '\n';
}

bool is_required(const json::value& schema, std::string_view name) {
  const auto* list = schema::member(schema, "required");
  return list != nullptr && list->is_array() &&
         std::ranges::any_of(list->get_array(), [&](const auto& each) {
           return each.is_string() && text::view(each.get_string()) == name;
         });
}

std::string paragraph(const protocol_tool& tool) {
  const auto& schema = schema::unwrap(tool.schema);
  auto out = "name: " + tool.name + '\n';
  if (!tool.description.empty())
    out += "description: " + tool.description + '\n';
  out += "parameters:\n";
  auto names = std::vector<std::string_view>{};
  const auto* properties = schema::properties(schema);
  if (properties != nullptr)
    for (const auto& property : *properties)
      names.push_back(text::view(property.key()));
  std::ranges::sort(names);
  for (const auto name : names)
    out += parameter_line(name, properties->at(name), is_required(schema, name));
  if (names.empty())
    out += "  (no named parameters)\n";
  auto shown = schema;
  if (auto* object = shown.if_object())
    object->stable_erase("$schema");
  return out + "schema: " + to_text(shown);
}

} // namespace

std::string tool_paragraphs(const std::vector<protocol_tool>& tools) {
  if (tools.empty())
    return "none";
  auto out = std::string{};
  for (const auto& tool : tools)
    out += (out.empty() ? "" : "\n\n") + paragraph(tool);
  return out;
}

std::string system_prompt(const std::vector<protocol_tool>& tools) {
  return "# Tools\n\nYou can call tools. They are listed here, with the types of their "
         "parameters:\n<tools>\n" +
         tool_paragraphs(tools) +
         "\n</tools>\n\n# Rules\n"
         "- A call is an XML element named after the tool, with an element per parameter in it, "
         "named after the parameter. Names are case sensitive; tags have no attributes.\n"
         "- Write a list as one element per item, an object as elements in the element. A list of "
         "no "
         "item or of one may be JSON in its element: [] or [\"first\"].\n"
         "- Give every required parameter. Do not invent tools, parameters or values: ask for what "
         "you do not know.\n"
         "- Several calls may stand one after the other. Reasons for a call go before it.\n"
         "- Write calls as they are, not in code fences. When no tool is needed, just answer.\n\n"
         "# Form of a call\n"
         "<tool_name>\n  <parameter>value</parameter>\n  <list>first</list>\n  "
         "<list>second</list>\n"
         "  <object>\n    <key>value</key>\n  </object>\n</tool_name>";
}

} // namespace superstep::morph_xml

// SPDX-License-Identifier: Apache-2.0
#include "protocols/hermes_prompt.hpp"

#include "protocols/coerce_schema.hpp"
#include "protocols/coerce_text.hpp"

#include <string_view>

namespace superstep::hermes {

namespace {

std::string type_name(const json::value* schema);

std::string named_type(std::string_view type, const json::value& schema) {
  if (type == "string")
    return "str";
  if (type == "number")
    return "float";
  if (type == "integer")
    return "int";
  if (type == "boolean")
    return "bool";
  if (type == "array") {
    const auto* items = schema::member(schema, "items");
    return "list[" + (items ? type_name(items) : std::string{"Any"}) + "]";
  }
  if (type == "object") {
    const auto* more = schema::member(schema, "additionalProperties");
    const auto set = more && !(more->is_bool() && !more->get_bool());
    return set ? "dict[str, " + type_name(more) + "]" : "dict";
  }
  return "Any";
}

/// A type in the words of Python, which the models of this family were trained on.
std::string type_name(const json::value* schema) {
  const auto* type = schema ? schema::member(*schema, "type") : nullptr;
  if (type == nullptr)
    return "Any";
  if (const auto* name = type->if_string())
    return named_type(text::view(*name), *schema);
  const auto* list = type->if_array();
  if (list == nullptr)
    return "Any";
  auto out = std::string{"Union["};
  for (const auto& name : *list) {
    if (&name != list->data())
      out += ',';
    out += name.is_string() ? named_type(text::view(name.get_string()), *schema) : "Any";
  }
  return out + ']';
}

/// The tool as a Python function with its documentation.
std::string signature(const protocol_tool& tool) {
  auto out = tool.name + '(';
  auto lines = std::string{};
  if (const auto* properties = schema::properties(schema::unwrap(tool.schema)))
    for (const auto& property : *properties) {
      const auto name = std::string{text::view(property.key())};
      const auto type = type_name(&property.value());
      out += (lines.empty() ? "" : ", ") + name + ": " + type;
      const auto* description = schema::member(property.value(), "description");
      lines += "        " + name + '(' + type + "): ";
      if (description && description->is_string())
        lines += text::trim(text::view(description->get_string()));
      lines += '\n';
    }
  out += ") - " + tool.description + "\n\n";
  return lines.empty() ? out : out + "    Args:\n" + lines;
}

} // namespace

std::string tool_lines(const std::vector<protocol_tool>& tools) {
  auto out = std::string{};
  for (const auto& tool : tools) {
    if (!out.empty())
      out += '\n';
    out += R"({"type": "function", "function": {"name": )";
    append_quoted(out, tool.name);
    out += R"(, "description": )";
    append_quoted(out, signature(tool));
    out += R"(, "parameters": )";
    append_text(out, schema::unwrap(tool.schema));
    out += "}}";
  }
  return out;
}

std::string system_prompt(const std::vector<protocol_tool>& tools) {
  return "You can call functions. Their signatures stand between <tools></tools>; call one or "
         "several of them when they help with what the user asks. Use only functions and "
         "parameters "
         "that are listed, give every required parameter, and do not invent values: ask for what "
         "you do not know.\n<tools> " +
         tool_lines(tools) +
         " </tools>\nA call is one JSON object of this schema:\n"
         R"({"title": "FunctionCall", "type": "object", "properties": {"name": {"type": "string"}, )"
         R"("arguments": {"type": "object"}}, "required": ["name", "arguments"]})"
         "\nWrite each call between <tool_call></tool_call> tags, as many as are needed, like "
         "this:\n<tool_call>\n"
         R"({"name": "<function-name>", "arguments": <args-dict>})"
         "\n</tool_call>";
}

} // namespace superstep::hermes

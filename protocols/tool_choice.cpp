// SPDX-License-Identifier: Apache-2.0
// Forced tool choice: creates the response format for the request and parses the call in the
// answer. Follows @ai-sdk-tool/parser 4.1.26. Declared in protocol_parts.hpp.
#include "models/json_schema.hpp"
#include "protocols/answer_parts.hpp"
#include "protocols/protocol_parts.hpp"
#include "protocols/relaxed_json.hpp"
#include "protocols/text.hpp"

#include <string>
#include <utility>

namespace superstep {

namespace {

json::value constant(std::string_view name) {
  return json::object{{"const", json::string_view{name.data(), name.size()}}};
}

json::value format_of(const protocol_tool& tool) {
  auto properties = json::object{};
  properties["name"] = constant(tool.name);
  properties["arguments"] = schema::unwrap(tool.schema);
  auto schema = json::object{{"type", "object"}};
  schema["properties"] = std::move(properties);
  schema["required"] = json::array{"name", "arguments"};
  auto format = json::object{{"type", "json"}};
  format["schema"] = std::move(schema);
  format["name"] = tool.name;
  if (!tool.description.empty())
    format["description"] = tool.description;
  return format;
}

/// Adds a chain of JSON Schema conditions: `if` the name is that of the first tool, `then` the
/// arguments must match its schema, `else` the same for the second tool, and so on. Built from the
/// last tool, because each condition contains the following ones.
void add_branches(json::object& schema, const std::vector<protocol_tool>& tools) {
  auto rest = json::object{};
  for (auto tool = tools.rbegin(); tool != tools.rend(); ++tool) {
    auto condition = json::object{};
    condition["properties"] = json::object{{"name", constant(tool->name)}};
    condition["required"] = json::array{"name"};
    auto properties = json::object{};
    properties["name"] = constant(tool->name);
    properties["arguments"] = schema::unwrap(tool->schema);
    auto consequence = json::object{};
    consequence["properties"] = std::move(properties);
    consequence["required"] = json::array{"name", "arguments"};
    auto branch = json::object{};
    branch["if"] = std::move(condition);
    branch["then"] = std::move(consequence);
    if (!rest.empty())
      branch["else"] = std::move(rest);
    rest = std::move(branch);
  }
  for (auto& member : rest)
    schema[member.key()] = std::move(member.value());
}

json::value format_of_any(const std::vector<protocol_tool>& tools) {
  auto names = json::array{};
  for (const auto& tool : tools)
    names.emplace_back(tool.name);
  auto name = json::object{{"type", "string"}, {"description", "The tool to call."}};
  name["enum"] = std::move(names);
  auto properties = json::object{};
  properties["name"] = std::move(name);
  properties["arguments"] =
      json::object{{"type", "object"}, {"description", "The arguments of that tool."}};
  auto schema = json::object{{"type", "object"}};
  schema["properties"] = std::move(properties);
  schema["required"] = json::array{"name", "arguments"};
  add_branches(schema, tools);
  auto format = json::object{{"type", "json"}};
  format["schema"] = std::move(schema);
  return format;
}

} // namespace

result<json::value> forced_response_format(const std::vector<protocol_tool>& tools,
                                           const json::object& choice) {
  const auto* type = choice.if_contains("type");
  const auto kind = type && type->is_string() ? text::view(type->get_string()) : "";
  if (kind == "auto")
    return json::value{};
  if (kind == "required") {
    if (tools.empty())
      return error{errc::invalid_argument,
                   "the tool choice \"required\" needs at least one tool in the request"};
    return format_of_any(tools);
  }
  if (kind == "tool") {
    const auto* name = choice.if_contains("toolName");
    const auto* tool =
        name && name->is_string() ? find_tool(tools, text::view(name->get_string())) : nullptr;
    if (tool == nullptr)
      return error{errc::invalid_argument,
                   name ? "the tool choice names " + to_text(*name) +
                              ", which is not one of the request's tools"
                        : "the tool choice of type \"tool\" has no toolName"};
    return format_of(*tool);
  }
  return error{errc::invalid_argument, "a tool choice of type \"" + std::string{kind} +
                                           "\" cannot be used with a text protocol; "
                                           "use auto, required or tool"};
}

parsed_call parse_forced_call(std::string_view text, const std::vector<protocol_tool>& tools,
                              const protocol_error_handler& on_error) {
  const auto fail = [&](const char* code, std::string tool) {
    if (on_error)
      on_error({code, std::move(tool), std::string{text}});
  };
  const auto parsed = parse_lenient_json(text);
  if (!parsed || !parsed->is_object()) {
    fail(parsed ? "tool-choice-not-object" : "tool-choice-bad-json", "");
    return {"unknown", "{}"};
  }
  const auto& o = parsed->get_object();
  auto call = parsed_call{"unknown", "{}"};
  if (const auto* name = o.if_contains("name"); name && name->is_string())
    if (const auto trimmed = text::trim(text::view(name->get_string())); !trimmed.empty())
      call.name = trimmed;
  const auto* arguments = o.if_contains("arguments");
  if (arguments == nullptr)
    return call;
  if (!arguments->is_object()) {
    fail("tool-choice-bad-arguments", call.name);
    return call;
  }
  const auto* tool = find_tool(tools, call.name);
  call.arguments = to_text(tool ? coerce(*arguments, tool->schema) : *arguments);
  return call;
}

} // namespace superstep

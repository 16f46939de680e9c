// SPDX-License-Identifier: Apache-2.0
// Recorded cases of tool-call protocols: prompts, parsing and formatting.
#include "cases.hpp"
#include "protocol_stream_cases.hpp"
#include "protocols/elements/tool_xml.hpp"
#include "protocols/protocol_parts.hpp"
#include "protocols/relaxed_json.hpp"

#include <superstep/protocols/tool_protocol.hpp>

#include <stdexcept>
#include <utility>

namespace superstep::conformance {

std::string string_of(const json::object& o, std::string_view key) {
  const auto& s = o.at(key).as_string();
  return {s.data(), s.size()};
}

tool_protocol_ptr protocol_of(const json::object& input) {
  auto made = make_protocol(string_of(input, "protocol"));
  if (!made)
    throw std::runtime_error{made.error().text};
  return *made;
}

std::vector<protocol_tool> tools_of(const json::object& input) {
  auto tools = std::vector<protocol_tool>{};
  for (const auto& tool : input.at("tools").as_array())
    tools.push_back(make_protocol_tool(tool.as_object()));
  return tools;
}

json::value error_of(const protocol_error& e) {
  auto out = json::object{};
  out["code"] = e.code;
  if (!e.tool_name.empty())
    out["toolName"] = e.tool_name;
  return out;
}

void add_arguments(json::object& out, const std::string& arguments) {
  if (auto parsed = parse_lenient_json(arguments))
    out["input"] = std::move(*parsed);
  else
    out["input_raw"] = arguments;
}

namespace {

json::value call_part(const parsed_call& call) {
  auto out = json::object{{"type", "tool-call"}};
  out["toolName"] = call.name;
  add_arguments(out, call.arguments);
  return out;
}

json::value parse_case(const json::object& input) {
  auto errors = json::array{};
  const auto parts = parse_answer(*protocol_of(input), string_of(input, "text"), tools_of(input),
                                  [&](const protocol_error& e) { errors.push_back(error_of(e)); });
  auto content = json::array{};
  for (const auto& part : parts)
    if (const auto* call = std::get_if<parsed_call>(&part))
      content.push_back(call_part(*call));
    else if (const auto& text = std::get<parsed_text>(part).text; !text.empty())
      content.push_back(json::object{{"type", "text"}, {"text", text}});
  return {{"content", std::move(content)}, {"errors", std::move(errors)}};
}

json::value format_call_case(const json::object& input) {
  return {{"text", protocol_of(input)->format_call(string_of(input, "toolName"),
                                                   string_of(input, "input"))}};
}

json::value format_result_case(const json::object& input) {
  const auto value = tool_result_value(input.at("output").as_object());
  return {{"text", protocol_of(input)->format_result(string_of(input, "toolName"), value)}};
}

json::value prompt_case(const json::object& input) {
  const auto protocol = protocol_of(input);
  const auto tools = tools_of(input);
  auto out = json::object{};
  out["tools"] = protocol->tool_list(tools);
  // Only the calls are compared, not the text before them.
  const auto examples = example_section(*protocol, tools);
  if (const auto first = examples.find("Tool: "); first != examples.npos)
    out["examples"] = examples.substr(first);
  return out;
}

json::value transform_case(const json::object& input) {
  const auto tools = tools_of(input);
  const auto protocol = protocol_of(input);
  auto errors = json::array{};
  const auto prompt = protocol->prompt(tools).empty() ? "" : "{{TOOLS_PROMPT}}";
  auto messages = transform_prompt(*protocol, input.at("prompt").as_array(), prompt,
                                   [&](const protocol_error& e) { errors.push_back(error_of(e)); });
  return {{"messages", std::move(messages)}, {"tools", 0}, {"errors", std::move(errors)}};
}

json::value tool_choice_params_case(const json::object& input) {
  const auto format = forced_response_format(tools_of(input), input.at("toolChoice").as_object());
  if (!format)
    return {{"error", format.error().text}};
  return {{"responseFormat", *format}, {"toolChoiceCleared", true}};
}

json::value tool_choice_parse_case(const json::object& input) {
  auto errors = json::array{};
  const auto call =
      parse_forced_call(string_of(input, "text"), tools_of(input),
                        [&](const protocol_error& e) { errors.push_back(error_of(e)); });
  auto content = json::array{};
  content.push_back(call_part(call));
  return {{"content", std::move(content)}, {"errors", std::move(errors)}};
}

json::value coerce_case(const json::object& input) {
  const auto* schema = input.if_contains("schema");
  auto out = json::object{};
  out["value"] = coerce(input.at("value"), schema ? *schema : json::value{});
  return out;
}

json::value rxml_case(const json::object& input) {
  const auto* repair = input.if_contains("repair");
  auto read = parse_tool_xml(input.at("xml").as_string(), input.at("schema"),
                             repair != nullptr && repair->is_bool() && repair->get_bool());
  if (!read)
    return {{"error", true}};
  return {{"value", std::move(*read)}};
}

json::value rjson_case(const json::object& input) {
  auto parsed = parse_relaxed_json(string_of(input, "text"));
  if (!parsed)
    return {{"error", parsed.error().text}};
  auto out = json::object{};
  out["value"] = std::move(*parsed);
  return out;
}

} // namespace

void add_protocol_cases(case_table& table) {
  table["proto.parse"] = parse_case;
  table["proto.stream"] = stream_case;
  table["proto.deltas"] = deltas_case;
  table["proto.format_call"] = format_call_case;
  table["proto.format_result"] = format_result_case;
  table["proto.prompt"] = prompt_case;
  table["proto.transform"] = transform_case;
  table["proto.tool_choice_params"] = tool_choice_params_case;
  table["proto.tool_choice_parse"] = tool_choice_parse_case;
  table["proto.coerce"] = coerce_case;
  table["proto.rjson"] = rjson_case;
  table["proto.rxml"] = rxml_case;
}

} // namespace superstep::conformance

// SPDX-License-Identifier: Apache-2.0
#include "models/providers/openai_content.hpp"

#include "models/providers/json_parts.hpp"

#include <utility>

namespace superstep::providers {

namespace {

/// Blocks that are sent in another place or not at all.
bool is_left_out(const json::object& block, const message& m, openai_api api) {
  const auto type = type_of(block);
  if (is_one_of(type, {"tool_use", "thinking", "redacted_thinking", "reasoning_content",
                       "input_json_delta", "tool_call_chunk"}))
    return true;
  if (api == openai_api::responses)
    return false;
  return is_one_of(type, {"reasoning", "function_call", "code_interpreter_call"}) ||
         (m.type == message_type::ai && type == "tool_call");
}

/// Anthropic's image with a `source`, as a link; "" when it has none that can be sent.
std::string url_of(const json::object& source) {
  const auto data = text_in(source, "data");
  if (type_of(source) == "base64" && !data.empty())
    return "data:" + std::string{text_in(source, "media_type")} + ";base64," + std::string{data};
  return std::string{text_in(source, "url")};
}

result<> add_block(json::array& into, const json::object& block, const message& m, openai_api api) {
  const auto type = type_of(block);
  if (is_left_out(block, m, api))
    return {};
  // The sound an answer gave is referred to by its id, beside the content.
  if (m.type == message_type::ai && type == "audio")
    return {};
  if (is_data_block(block)) {
    auto data = to_openai_data_block(block, api);
    if (!data)
      return bad_request(std::move(data).error().text);
    into.push_back(*std::move(data));
  } else if (const auto* source = object_in(block, "source"); source && type == "image") {
    if (auto url = url_of(*source); !url.empty())
      into.push_back(
          json::object{{"type", "image_url"}, {"image_url", json::object{{"url", url}}}});
  } else if (type == "text" && api == openai_api::chat_completions && m.type == message_type::ai &&
             block.contains("text")) {
    into.push_back(only(block, {"type", "text"})); // ids and citations of answers are refused
  } else {
    into.push_back(block);
  }
  return {};
}

json::object function_call(std::string_view id, std::string_view name, std::string_view arguments) {
  return {{"type", "function"},
          {"id", id.empty() ? json::value{} : json::value(id)},
          {"function", json::object{{"name", name}, {"arguments", arguments}}}};
}

} // namespace

result<json::value> openai_content(const message& m, openai_api api) {
  if (!m.blocks)
    return json::value(m.content);
  auto blocks = json::array{};
  for (const auto& element : *m.blocks) {
    const auto* block = element.if_object();
    if (!block)
      blocks.push_back(element);
    else if (auto added = add_block(blocks, *block, m, api); !added)
      return std::move(added).error();
  }
  return json::value(std::move(blocks));
}

json::array openai_calls(const message& m) {
  auto calls = json::array{};
  for (const auto& c : m.tool_calls)
    calls.push_back(function_call(c.id, c.name, to_text(c.args)));
  for (const auto& c : m.invalid_tool_calls)
    calls.push_back(function_call(c.id, c.name, c.args));
  return calls;
}

json::value openai_tool(json::value tool) {
  auto* given = tool.if_object();
  if (!given || given->contains("function") || !given->contains("name") ||
      (given->contains("type") && type_of(*given) != "function"))
    return tool;
  auto function = std::move(*given);
  function.erase("type");
  if (auto* schema = function.if_contains("input_schema")) { // Anthropic's form
    auto parameters = std::move(*schema);
    function["parameters"] = std::move(parameters);
    function.erase("input_schema");
  }
  return json::object{{"type", "function"}, {"function", std::move(function)}};
}

result<std::optional<json::value>> openai_tool_choice(const provider_question& q) {
  const auto* choice = member(q.binding, "tool_choice");
  if (!choice || *choice == false || *choice == "")
    return std::optional<json::value>{};
  if (*choice == true || *choice == "any")
    return std::optional<json::value>{"required"};
  if (const auto* name = choice->if_string(); name && has_tool(q.tools, *name))
    return std::optional<json::value>{
        json::object{{"type", "function"}, {"function", json::object{{"name", *name}}}}};
  if (choice->is_string() || choice->is_object())
    return std::optional{*choice};
  return bad_request(
      "tool_choice: must be a tool's name, \"auto\", \"any\", true or an object, got " +
      to_text(*choice));
}

} // namespace superstep::providers

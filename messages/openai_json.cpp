// SPDX-License-Identifier: Apache-2.0
// Reads and writes messages in the plain chat-completions form, and parses finished tool calls.
// Used by protocols and by models without a provider of their own; requests of provider models are
// written by models/providers/openai_chat_request.cpp.
#include "messages/openai_json.hpp"

#include "argument_json.hpp"

#include <superstep/messages/message_json.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace superstep {

namespace {

/// Whether a block belongs to another provider's API, which chat-completions servers reject.
bool is_foreign(const json::value& block) {
  static constexpr auto types =
      std::array{"thinking",        "redacted_thinking", "reasoning",     "reasoning_content",
                 "tool_use",        "tool_call",         "function_call", "code_interpreter_call",
                 "input_json_delta"};
  const auto* object = block.if_object();
  const auto* type = object ? object->if_contains("type") : nullptr;
  return type && std::any_of(types.begin(), types.end(), [&](const char* t) { return *type == t; });
}

json::value call_to_json(std::string_view id, std::string_view name, std::string_view arguments) {
  auto call = json::object{{"type", "function"}};
  if (!id.empty())
    call["id"] = id;
  call["function"] = json::object{{"name", name}, {"arguments", arguments}};
  return call;
}

/// Returns the member `content`. Null if there are tool calls and no content, as in OpenAI's own
/// answers.
json::value content_of(const message& m, bool has_calls) {
  if (!m.blocks) {
    if (m.content.empty() && has_calls)
      return nullptr;
    return json::value(m.content);
  }
  auto blocks = json::array{};
  for (const auto& block : *m.blocks) {
    if (is_foreign(block))
      continue;
    if (block.is_string())
      blocks.emplace_back(json::object{{"type", "text"}, {"text", block}});
    else
      blocks.push_back(block);
  }
  if (blocks.empty() && has_calls)
    return nullptr;
  if (blocks.empty())
    return json::value("");
  return blocks;
}

/// Returns a text member; "" if it is absent or not a string.
std::string text_member(const json::object& from, std::string_view key) {
  const auto* value = from.if_contains(key);
  const auto* text = value ? value->if_string() : nullptr;
  return text ? std::string{text->data(), text->size()} : std::string{};
}

error malformed(std::string text) {
  return {errc::parse_failed, std::move(text)};
}

/// Returns the JSON type of a value, for error texts.
std::string_view kind_of(const json::value& value) {
  if (value.is_array())
    return "a list";
  if (value.is_string())
    return "a string";
  return value.is_null() ? "null" : value.is_bool() ? "a boolean" : "a number";
}

/// Returns the prefix of an error text for a truncated answer; empty if the answer is complete.
std::string why_cut(std::string_view cut) {
  return cut.empty() ? std::string{} : std::string{cut} + ": ";
}

/// Reads one element of `tool_calls`. Malformed structure is an error; malformed arguments make an
/// invalid call.
result<void> add_call(message& to, const json::value& value, std::size_t i) {
  const auto at = "tool_calls[" + std::to_string(i) + ']';
  const auto* call = value.if_object();
  if (!call)
    return malformed(at + ": must be an object");
  const auto* inner = call->if_contains("function");
  const auto* function = inner ? inner->if_object() : nullptr;
  if (!function)
    return malformed(at + ".function: must be an object");
  auto name = text_member(*function, "name");
  if (name.empty())
    return malformed(at + ".function.name: must be a string that is not empty");
  const auto* arguments = function->if_contains("arguments");
  // Some servers send the arguments as an object instead of JSON text.
  if (arguments && arguments->is_object()) {
    to.tool_calls.push_back({text_member(*call, "id"), std::move(name),
                             json::object(arguments->get_object(), json::storage_ptr{})});
    return {};
  }
  if (arguments && !arguments->is_string() && !arguments->is_null())
    return malformed(at + ".function.arguments: must be a string with JSON");
  superstep::add_call(to, parse_tool_call(text_member(*call, "id"), std::move(name),
                                          text_member(*function, "arguments")));
  return {};
}

} // namespace

std::string_view openai_role(const message& m) {
  // `developer` is a system message; the original role is kept in additional_kwargs.
  switch (m.type) {
  case message_type::human:
    return "user";
  case message_type::ai:
    return "assistant";
  case message_type::system: {
    const auto* role = m.additional_kwargs.if_contains("__openai_role__");
    return role && *role == "developer" ? "developer" : "system";
  }
  case message_type::tool:
    return "tool";
  case message_type::chat:
    return m.role ? std::string_view{*m.role} : std::string_view{};
  case message_type::function:
    return "function";
  case message_type::remove:
    break;
  }
  return "user";
}

json::value to_openai(const message& m) {
  auto o = json::object{{"role", openai_role(m)}};
  auto calls = json::array{};
  for (const auto& c : m.tool_calls)
    calls.emplace_back(call_to_json(c.id, c.name, to_text(c.args)));
  for (const auto& c : m.invalid_tool_calls)
    calls.emplace_back(call_to_json(c.id, c.name, c.args));
  o["content"] = content_of(m, !calls.empty());
  if (!m.name.empty())
    o["name"] = m.name;
  if (!calls.empty())
    o["tool_calls"] = std::move(calls);
  if (!m.tool_call_id.empty())
    o["tool_call_id"] = m.tool_call_id;
  return o;
}

void append_openai(std::string& out, const message& m) {
  append_text(out, to_openai(m));
}

json::value to_openai(const tool_definition& tool) {
  return json::object{{"type", "function"},
                      {"function", json::object{{"name", tool.name},
                                                {"description", tool.description},
                                                {"parameters", tool.parameters}}}};
}

void append_openai(std::string& out, const tool_definition& tool) {
  out += R"({"type":"function","function":{"name":)";
  append_quoted(out, tool.name);
  out += R"(,"description":)";
  append_quoted(out, tool.description);
  out += R"(,"parameters":)";
  append_text(out, tool.parameters);
  out += "}}";
}

result<message> from_openai(const json::object& from) {
  if (const auto* role = from.if_contains("role"); role && *role != "assistant")
    return malformed("role: an answer must be of role \"assistant\", got " + to_text(*role));
  auto m = message{};
  m.type = message_type::ai;
  m.id = text_member(from, "id");
  m.name = text_member(from, "name");
  if (const auto* content = from.if_contains("content")) {
    if (const auto* blocks = content->if_array())
      m.blocks = json::array(*blocks, json::storage_ptr{});
    else if (content->is_string() || content->is_null())
      m.content = text_member(from, "content");
    else
      return malformed("content: must be a string, a list of blocks or null");
  }
  if (const auto* calls = from.if_contains("tool_calls"); calls && !calls->is_null()) {
    if (!calls->is_array())
      return malformed("tool_calls: must be a list");
    for (auto i = std::size_t{0}; i < calls->get_array().size(); ++i)
      if (auto added = add_call(m, calls->get_array()[i], i); !added)
        return std::move(added).error();
  }
  for (const auto* key : {"refusal", "audio", "function_call"})
    if (const auto* value = from.if_contains(key); value && !value->is_null())
      m.additional_kwargs[key] = *value;
  return m;
}

std::variant<tool_call, invalid_tool_call> parse_tool_call(std::string id, std::string name,
                                                           std::string_view arguments,
                                                           std::string_view cut) {
  if (arguments.empty() && !cut.empty())
    return invalid_tool_call{std::move(id), std::move(name), {}, why_cut(cut) + "no arguments"};
  if (arguments.empty() || arguments == "null")
    return tool_call{std::move(id), std::move(name), {}};
  auto parsed = parse_argument_json(arguments);
  if (parsed && parsed->is_object())
    return tool_call{std::move(id), std::move(name), std::move(parsed->get_object())};
  auto why = parsed ? "the arguments must be a JSON object, got " + std::string{kind_of(*parsed)}
                    : why_cut(cut) + parsed.error().text;
  return invalid_tool_call{std::move(id), std::move(name), std::string{arguments}, std::move(why)};
}

void add_call(message& to, std::variant<tool_call, invalid_tool_call> call) {
  if (auto* good = std::get_if<tool_call>(&call))
    to.tool_calls.push_back(std::move(*good));
  else
    to.invalid_tool_calls.push_back(std::get<invalid_tool_call>(std::move(call)));
}

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
// Reads and writes messages in the plain chat-completions form, and parses finished tool calls.
// Used by protocols and by models without a provider of their own; requests of provider models are
// written by models/providers/openai_chat_request.cpp.
#include "messages/openai_json.hpp"

#include "argument_json.hpp"
#include "base/padded_json.hpp"

#include <superstep/base/detail/assert.hpp>
#include <superstep/messages/message_json.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace superstep {

namespace {

namespace dom = simdjson::dom;

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

/// Returns the members with these names, in this order; nullopt for those that are absent or null.
/// Reads the object once, because simdjson has no index of its members.
/// @pre no member is duplicate
template <std::size_t N>
std::array<std::optional<dom::element>, N> members(dom::object from,
                                                   const std::string_view (&names)[N]) {
  auto out = std::array<std::optional<dom::element>, N>{};
  for (const auto [key, value] : from) {
    const auto* const found = std::find(std::begin(names), std::end(names), key);
    if (found != std::end(names) && !value.is_null())
      out[static_cast<std::size_t>(found - names)] = value;
  }
  return out;
}

/// Returns a text; "" if the value is absent or not a string.
std::string text_of(std::optional<dom::element> value) {
  auto text = std::string_view{};
  return value && value->get(text) == simdjson::SUCCESS ? std::string{text} : std::string{};
}

/// Returns a copy of a value in which no key appears twice.
json::value copy_of(dom::element from) {
  auto out = json::value{};
  [[maybe_unused]] const auto is_copied = to_value(from, out);
  SUPERSTEP_ASSERT(is_copied);
  return out;
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
result<void> add_call(message& to, dom::element value, std::size_t i) {
  const auto fault = [i](std::string_view text) {
    return malformed("tool_calls[" + std::to_string(i) + ']' + std::string{text});
  };
  auto call = dom::object{};
  if (value.get(call) != simdjson::SUCCESS)
    return fault(": must be an object");
  const auto [id, inner] = members(call, {"id", "function"});
  auto function = dom::object{};
  if (!inner || inner->get(function) != simdjson::SUCCESS)
    return fault(".function: must be an object");
  const auto [named, arguments] = members(function, {"name", "arguments"});
  auto name = text_of(named);
  if (name.empty())
    return fault(".function.name: must be a string that is not empty");
  auto text = std::string_view{};
  // Some servers send the arguments as an object instead of JSON text.
  if (arguments && arguments->is_object()) {
    to.tool_calls.push_back(
        {text_of(id), std::move(name), std::move(copy_of(*arguments).get_object())});
    return {};
  }
  if (arguments && arguments->get(text) != simdjson::SUCCESS)
    return fault(".function.arguments: must be a string with JSON");
  superstep::add_call(to, parse_tool_call(text_of(id), std::move(name), text));
  return {};
}

/// Reads the members of an answer.
result<void> read_answer(dom::element tree, message& m) {
  auto from = dom::object{};
  if (tree.get(from) != simdjson::SUCCESS)
    return malformed("must be an object");
  const auto [role, id, name, content, called, refusal, audio, function_call] = members(
      from, {"role", "id", "name", "content", "tool_calls", "refusal", "audio", "function_call"});
  if (text_of(role) != "assistant")
    return malformed("must have \"role\": \"assistant\"");
  m.type = message_type::ai;
  m.id = text_of(id);
  m.name = text_of(name);
  if (content) {
    if (content->is_array())
      m.blocks = std::move(copy_of(*content).get_array());
    else if (content->is_string())
      m.content = text_of(content);
    else
      return malformed("content: must be a string, a list of blocks or null");
  }
  if (called) {
    auto calls = dom::array{};
    if (called->get(calls) != simdjson::SUCCESS)
      return malformed("tool_calls: must be a list");
    auto i = std::size_t{0};
    for (const auto call : calls)
      if (auto added = add_call(m, call, i++); !added)
        return added;
  }
  const auto keep = [&m](std::string_view key, const std::optional<dom::element>& value) {
    if (value)
      m.additional_kwargs[key] = copy_of(*value);
  };
  keep("refusal", refusal);
  keep("audio", audio);
  keep("function_call", function_call);
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

result<message> from_openai(std::string_view text, std::size_t spare, json_keys keys) {
  // The parser of parse_json() is used for the arguments of calls while the tree is read.
  thread_local auto parser = tree_parser{};
  const auto tree = parser.parse(text, spare);
  const auto is_tree = tree && (keys == json_keys::unique || !has_key_twice(*tree));
  auto out = result<message>{};
  if (!is_tree)
    out = tree ? json_fault(text) : tree.error();
  else if (auto read = read_answer(*tree, *out); !read)
    out = std::move(read).error();
  parser.trim();
  return out;
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

// SPDX-License-Identifier: Apache-2.0
// Access to JSON members and small builders that all providers use.
#include "models/providers/json_parts.hpp"

#include "base/utf8.hpp"
#include "messages/openai_json.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace superstep::providers {

std::string arguments_in(const json::object& o, std::string_view key) {
  const auto* value = member(o, key);
  if (!value || value->is_string())
    return std::string{text_in(o, key)};
  const auto* object = value->if_object();
  return object && object->empty() ? std::string{} : to_text(*value);
}

std::int64_t count_in(const json::object& o, std::string_view key) {
  constexpr auto tokens_max = std::int64_t{1'000'000'000'000'000}; // sums must fit in 64 bits
  const auto* value = o.if_contains(key);
  if (!value || !value->is_number())
    return 0;
  const auto number = value->to_number<double>();
  return number >= 0 && std::trunc(number) == number
             ? static_cast<std::int64_t>(std::min(number, static_cast<double>(tokens_max)))
             : 0;
}

std::int64_t total_in(const json::object& usage, std::int64_t sum) {
  return member(usage, "total_tokens") ? count_in(usage, "total_tokens") : sum;
}

void put_count(object_box& into, std::string_view name, const json::object& from,
               std::string_view key) {
  if (const auto* value = member(from, key); value && value->is_number())
    into.insert_or_assign(name, json::value(count_in(from, key)));
}

json::object only(const json::object& from, std::initializer_list<std::string_view> keys) {
  auto out = json::object{};
  for (const auto key : keys)
    if (const auto* value = from.if_contains(key))
      out[key] = *value;
  return out;
}

json::object without_nulls(const json::object& from) {
  auto out = json::object{};
  for (const auto& [key, value] : from)
    if (!value.is_null())
      out[key] = value;
  return out;
}

void put_all(json::object& into, const json::object& from) {
  for (const auto& [key, value] : from)
    into[key] = value;
}

void put_as(json::object& into, std::string_view name, const json::object& from,
            std::string_view key) {
  if (const auto* value = member(from, key))
    into.insert_or_assign(name, *value);
}

void put_as(object_box& into, std::string_view name, const json::object& from,
            std::string_view key) {
  if (const auto* value = member(from, key))
    into.insert_or_assign(name, *value);
}

result<token_usage> not_reported(token_usage all, optional_box<token_usage>& reported) {
  auto added = reported ? subtract_usage(all, *reported) : result<token_usage>{all};
  if (added)
    reported = std::move(all);
  return added;
}

bool is_of_server_tool(std::string_view type) {
  if (type.ends_with("_call"))
    return !is_one_of(type, {"tool_call", "invalid_tool_call", "function_call"});
  return type.ends_with("_tool_result") ||
         is_one_of(type, {"server_tool_use", "mcp_tool_use", "server_tool_call_chunk",
                          "server_tool_result", "mcp_list_tools", "mcp_approval_request"});
}

bool is_standard(const message& m) {
  return text_in(m.response_metadata, "output_version") == "v1";
}

std::string_view provider_of(const message& m) {
  return text_in(m.response_metadata, "model_provider");
}

json::object bound_parameters(const provider_question& q) {
  // Each provider converts the tool options itself. The other members are ordinary parameters.
  auto out = json::object{};
  for (const auto& [key, value] : q.binding)
    if (!is_one_of(std::string_view{key.data(), key.size()},
                   {"tool_choice", "parallel_tool_calls", "strict"}))
      out[key] = value;
  return out;
}

std::string_view name_of_tool(const json::value& tool) {
  const auto* object = tool.if_object();
  if (!object)
    return {};
  const auto* function = object_in(*object, "function");
  return text_in(function ? *function : *object, "name");
}

bool has_tool(const provider_question& q, std::string_view name) {
  // A tool may be in the request as JSON or as a definition.
  const auto is_named = [&](const json::value& tool) { return name_of_tool(tool) == name; };
  const auto is_defined = [&](const tool_definition& tool) { return tool.name == name; };
  return std::any_of(q.tools.begin(), q.tools.end(), is_named) ||
         (q.definitions && std::any_of(q.definitions->begin(), q.definitions->end(), is_defined));
}

void spell_out_tools(provider_question& q) {
  // Drops the shared definitions, so that the tools are not sent twice.
  if (const auto definitions = std::exchange(q.definitions, nullptr))
    for (const auto& tool : *definitions)
      q.tools.push_back(to_openai(tool));
}

error bad_request(std::string text) {
  return {model_errc::bad_request, std::move(text)};
}

error bad_answer(std::string text) {
  return {model_errc::bad_answer, std::move(text)};
}

std::optional<error> error_in(const json::object& answer) {
  // Some servers report errors with status 200, so each answer is checked for one.
  constexpr auto length_max = std::size_t{500};
  const auto* fault = member(answer, "error");
  if (!fault)
    return std::nullopt;
  const auto* object = fault->if_object();
  auto text = object ? std::string{text_in(*object, "message")} : std::string{};
  if (text.empty())
    text = to_text(*fault);
  else if (const auto code = text_in(*object, "code"); !code.empty())
    text = std::string{code} + ": " + text;
  return bad_answer("the provider answered with an error: " + shortened(text, length_max));
}

result<> read_content(message& m, const json::object& answer) {
  const auto* content = member(answer, "content");
  if (!content)
    return {};
  if (const auto* text = content->if_string()) {
    m.content = std::string_view{*text};
    return {};
  }
  const auto* blocks = content->if_array();
  const auto is_block = [](const json::value& v) { return v.is_string() || v.is_object(); };
  if (!blocks || !std::all_of(blocks->begin(), blocks->end(), is_block))
    return bad_answer("content: must be text or a list of blocks, got " +
                      shortened(to_text(*content), 200));
  // Copied to the heap, because the memory of the parsed answer is released after reading.
  m.blocks.emplace(*blocks, json::storage_ptr{});
  return {};
}

invalid_tool_call object_of_cut_answer(std::string id, std::string name, std::string_view args,
                                       std::string_view cut) {
  return {std::move(id), std::move(name), std::string{args},
          std::string{cut} + ": the arguments of its last call may be incomplete"};
}

message_chunk chunk_of(std::string_view provider) {
  auto chunk = message_chunk{};
  chunk.part.type = message_type::ai;
  chunk.part.response_metadata["model_provider"] = provider;
  return chunk;
}

message_chunk last_chunk() {
  auto chunk = message_chunk{};
  chunk.part.type = message_type::ai;
  chunk.is_last = true;
  return chunk;
}

} // namespace superstep::providers

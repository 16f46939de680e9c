// SPDX-License-Identifier: Apache-2.0
// Reads complete answers of OpenAI's Responses API. openai_responses_stream.cpp reads streams, and
// uses this file for the last event.
#include "messages/openai_json.hpp"
#include "models/providers/answer_end.hpp"
#include "models/providers/json_parts.hpp"
#include "models/providers/openai_responses.hpp"
#include "models/providers/responses_items.hpp"
#include "models/providers/service_tier.hpp"

#include <utility>

namespace superstep::openai_responses {

namespace {

using namespace providers;

/// Converts the texts and refusals of a message item to blocks. Each block gets the id of the item,
/// so that a later request can combine them to one message again.
void add_message(json::array& blocks, const json::object& item) {
  const auto* content = array_in(item, "content");
  if (!content)
    return;
  for (const auto& element : *content) {
    const auto* part = element.if_object();
    if (!part)
      continue;
    auto block = json::object{};
    if (type_of(*part) == "output_text") {
      block = json::object{{"type", "text"}, {"text", text_in(*part, "text")}};
      auto& annotations = block["annotations"].emplace_array();
      if (const auto* given = array_in(*part, "annotations"))
        for (const auto& a : *given)
          annotations.push_back(a.is_object() ? annotation_of(a.get_object()) : a);
    } else if (type_of(*part) == "refusal") {
      block = only(*part, {"type", "refusal"});
    } else {
      continue;
    }
    put_as(block, "id", item, "id");
    put_as(block, "phase", item, "phase");
    blocks.push_back(std::move(block));
  }
}

/// Adds the tool call in an item.
void add_call(message& m, const json::object& item, std::string_view cut) {
  auto id = std::string{text_in(item, "call_id")};
  auto name = std::string{text_in(item, "name")};
  if (type_of(item) != "custom_tool_call") {
    const auto* arguments = member(item, "arguments");
    const auto written = arguments && !arguments->is_string() ? to_text(*arguments) : std::string{};
    const auto text = written.empty() ? text_in(item, "arguments") : std::string_view{written};
    if (!written.empty() && arguments->is_object() && !cut.empty())
      m.invalid_tool_calls.push_back(
          object_of_cut_answer(std::move(id), std::move(name), text, cut));
    else
      superstep::add_call(m, parse_tool_call(std::move(id), std::move(name), text, cut));
    return;
  }
  // The input of a custom call is free text, which does not show whether it is complete.
  const auto input = text_in(item, "input");
  if (text_in(item, "status") == "incomplete" || (!cut.empty() && !member(item, "status")))
    m.invalid_tool_calls.push_back(
        {std::move(id), std::move(name), std::string{input}, "the model did not finish this call"});
  else
    m.tool_calls.push_back({std::move(id), std::move(name), {{"__arg1", input}}});
}

} // namespace

token_usage read_usage(const json::object& usage, std::string_view tier_name) {
  const auto tier = service_tier{tier_name};
  auto out = token_usage{};
  out.input_tokens = count_in(usage, "input_tokens");
  out.output_tokens = count_in(usage, "output_tokens");
  out.total_tokens = total_in(usage, out.input_tokens + out.output_tokens);
  if (const auto* details = object_in(usage, "input_tokens_details"))
    put_as(out.input_details, tier.key_of("cache_read"), *details, "cached_tokens");
  if (const auto* details = object_in(usage, "output_tokens_details"))
    put_as(out.output_details, tier.key_of("reasoning"), *details, "reasoning_tokens");
  tier.count_rest(out);
  return out;
}

result<message> read_response(const json::object& answer) {
  // Items other than messages become blocks, so that a later request can send them unchanged.
  if (auto fault = error_in(answer))
    return *std::move(fault);
  const auto* output = array_in(answer, "output");
  if (!output)
    return bad_answer("the answer of the Responses API has no list `output`");
  auto m = message{};
  m.type = message_type::ai;
  m.id = text_in(answer, "id");
  auto& blocks = m.blocks.emplace();
  const auto cut = why_cut(answer);
  for (const auto& element : *output) {
    const auto* item = element.if_object();
    if (!item)
      return bad_answer("output: an item must be an object, got " + to_text(element));
    const auto type = type_of(*item);
    if (type == "message") {
      add_message(blocks, *item);
      continue;
    }
    blocks.push_back(without_nulls(*item));
    if (is_one_of(type, {"function_call", "custom_tool_call"}))
      add_call(m, *item, &element == &output->back() ? cut : std::string{});
  }
  auto& metadata = m.response_metadata;
  for (const auto* key : {"created_at", "id", "incomplete_details", "metadata", "object", "status",
                          "user", "model", "service_tier"})
    put_as(metadata, key, answer, key);
  put_as(metadata, "model_name", answer, "model");
  metadata["model_provider"] = "openai";
  if (const auto* usage = object_in(answer, "usage"))
    m.usage = read_usage(*usage, text_in(answer, "service_tier"));
  return m;
}

} // namespace superstep::openai_responses

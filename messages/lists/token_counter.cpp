// SPDX-License-Identifier: Apache-2.0
// Estimates tokens by counting characters, as langchain-core does, so that trimming gives the same
// results.

#include "messages/python_text.hpp"

#include <superstep/messages/history.hpp>
#include <superstep/messages/message_json.hpp>

#include <algorithm>
#include <cmath>
#include <string>

namespace superstep {

namespace {

/// Returns the number of code points: the bytes that are not UTF-8 continuation bytes.
std::size_t length_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

/// Returns the length of a value in Python's notation, because langchain-core counts this form.
std::size_t printed_length(const json::value& value) {
  auto text = std::string{};
  append_python_literal(text, value);
  return length_of(text);
}

std::string_view type_of(const json::value& block) {
  const auto* object = block.if_object();
  const auto* type = object ? object->if_contains("type") : nullptr;
  return type && type->is_string() ? std::string_view{type->get_string()} : std::string_view{};
}

bool is_image(const json::value& block) {
  const auto type = type_of(block);
  return type == "image" || type == "image_url";
}

std::size_t length_of_block(const json::value& block) {
  if (const auto* text = block.if_string())
    return length_of({text->data(), text->size()});
  if (is_image(block))
    return 0;
  if (type_of(block) != "text")
    return printed_length(block);
  const auto* text = block.get_object().if_contains("text");
  return text && text->is_string() ? length_of(std::string_view{text->get_string()}) : 0;
}

json::value printed_calls(const message& m) {
  auto calls = json::array{};
  for (const auto& c : m.tool_calls)
    calls.push_back({{"name", c.name},
                     {"args", c.args},
                     {"id", c.id.empty() ? json::value{} : json::value(c.id)},
                     {"type", "tool_call"}});
  return calls;
}

} // namespace

std::int64_t approximate_tokens::operator()(const message& m) const {
  auto characters = length_of(openai_role(m)) + length_of(m.content);
  auto tokens = extra_per_message;
  if (m.blocks) {
    for (const auto& block : *m.blocks) {
      characters += length_of_block(block);
      tokens += is_image(block) ? per_image : 0;
    }
  } else if (!m.tool_calls.empty()) {
    characters += printed_length(printed_calls(m)); // block lists already contain the calls
  }
  characters += length_of(m.tool_call_id);
  if (names_count)
    characters += length_of(m.name);
  tokens += std::ceil(static_cast<double>(characters) / characters_per_token);
  return static_cast<std::int64_t>(std::ceil(tokens));
}

std::int64_t count_tokens_approximately(const message_list& messages,
                                        const approximate_tokens& count) {
  auto tokens = std::int64_t{0};
  for (const auto& m : messages)
    tokens += count(m);
  return tokens;
}

} // namespace superstep

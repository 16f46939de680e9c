// SPDX-License-Identifier: Apache-2.0
#include "block_parts.hpp"
#include "common_blocks.hpp"

#include <superstep/messages/content_blocks.hpp>

#include <algorithm>
#include <utility>

namespace superstep {

namespace {

using namespace blocks;

bool has_type(const json::value& block, std::string_view type) {
  const auto* object = block.if_object();
  return object && type_of(*object) == type;
}

void add_calls(json::array& into, const message& m) {
  for (const auto& call : m.tool_calls) {
    const auto is_there = [&](const json::value& block) {
      const auto* object = block.if_object();
      return object && is_one_of(type_of(*object), {"tool_call", "tool_call_chunk"}) &&
             text_in(*object, "id") == call.id;
    };
    if (!call.id.empty() && std::none_of(into.begin(), into.end(), is_there))
      into.push_back(call_block(call));
  }
}

void add_reasoning(json::array& into, const message& m) {
  const auto text = text_in(m.additional_kwargs, "reasoning_content");
  const auto is_there = std::any_of(into.begin(), into.end(), [](const json::value& block) {
    return has_type(block, "reasoning");
  });
  if (!text.empty() && !is_there)
    into.insert(into.begin(), json::object{{"type", "reasoning"}, {"reasoning", text}});
}

result<json::array> standard_blocks(const source& from) {
  const auto& m = from.whole;
  auto out = json::array{};
  const auto provider = text_in(m.response_metadata, "model_provider");
  if (!m.blocks) {
    if (!m.content.empty())
      out.push_back(json::object{{"type", "text"}, {"text", m.content}});
  } else if (m.type == message_type::ai && provider == "anthropic") {
    add_anthropic_blocks(out, from);
  } else if (m.type == message_type::ai && provider == "openai") {
    add_openai_blocks(out, from);
  } else {
    for (const auto& element : *m.blocks) {
      auto block = standard_block(element, out.size());
      if (!block)
        return std::move(block).error();
      out.push_back(*std::move(block));
    }
  }
  return out;
}

result<json::array> blocks_of(const source& from) {
  const auto& m = from.whole;
  if (m.blocks && text_in(m.response_metadata, "output_version") == "v1")
    return *m.blocks;
  auto out = standard_blocks(from);
  if (!out || m.type != message_type::ai)
    return out;
  add_calls(*out, m);
  add_reasoning(*out, m);
  return out;
}

} // namespace

result<json::array> content_blocks(const message& m) {
  return blocks_of({m});
}

result<json::array> content_blocks(const message_chunk& chunk) {
  auto from = source{chunk.part};
  from.is_chunk = !chunk.is_last;
  if (from.is_chunk && chunk.call_chunks.size() == 1)
    from.piece = &chunk.call_chunks.front();
  auto out = blocks_of(from);
  const auto& m = chunk.part;
  const auto is_empty = m.blocks ? m.blocks->empty() : m.content.empty();
  if (!out || !from.is_chunk || !is_empty || chunk.call_chunks.empty())
    return out;
  // Nothing but calls, and these are not whole yet.
  auto pieces = json::array{};
  for (auto& block : *out)
    if (!has_type(block, "tool_call") && !has_type(block, "invalid_tool_call"))
      pieces.push_back(std::move(block));
  for (const auto& call : chunk.call_chunks)
    pieces.push_back(call_chunk_block(call));
  return pieces;
}

message message_of_blocks(message_type type, json::array blocks) {
  auto m = message{};
  m.type = type;
  if (type == message_type::ai)
    for (const auto& block : blocks)
      if (has_type(block, "tool_call")) {
        const auto& call = block.get_object();
        const auto* args = object_in(call, "args");
        m.tool_calls.push_back({std::string{text_in(call, "id")},
                                std::string{text_in(call, "name")}, args ? *args : json::object{}});
      }
  m.blocks = std::move(blocks);
  return m;
}

} // namespace superstep

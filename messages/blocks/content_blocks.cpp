// SPDX-License-Identifier: Apache-2.0
// content_blocks(): chooses the converter by the provider (anthropic_blocks.cpp, openai_blocks.cpp,
// standard_block.cpp for all others) and adds tool calls and reasoning that are stored beside the
// content.
#include "block_parts.hpp"
#include "common_blocks.hpp"

#include <superstep/messages/message_json.hpp>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <utility>

namespace superstep {

namespace {

using namespace blocks;

bool has_type(const json::value& block, std::string_view type) {
  const auto* object = block.if_object();
  return object && type_of(*object) == type;
}

std::string_view provider_of(const message& m) {
  return text_in(m.response_metadata, "model_provider");
}

/// Whether the message is a chat completion of OpenAI: its content is text, and its tool calls are
/// not part of the content. Such calls are appended as blocks even if they have no id.
bool is_chat_completion(const message& m) {
  return !m.blocks && provider_of(m) == "openai";
}

/// Appends the tool calls that no block of the content represents. Calls are not compared with each
/// other, because some servers give several calls the same id.
void add_calls(json::array& into, const message& m) {
  auto known = std::set<std::string, std::less<>>{};
  for (const auto& element : into)
    if (const auto* block = element.if_object();
        block && is_one_of(type_of(*block), {"tool_call", "tool_call_chunk"}))
      known.emplace(text_in(*block, "id"));
  for (const auto& call : m.tool_calls)
    if (call.id.empty() ? is_chat_completion(m) : !known.contains(call.id))
      into.push_back(call_block(call));
}

/// Inserts a block with the reasoning text that a server sent separately from the content, unless
/// there is a reasoning block already.
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
  const auto provider = provider_of(m);
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
  // The content is already standard.
  if (m.blocks && text_in(m.response_metadata, "output_version") == "v1")
    return *m.blocks;
  auto out = standard_blocks(from);
  if (!out || m.type != message_type::ai)
    return out;
  add_calls(*out, m);
  add_reasoning(*out, m);
  return out;
}

/// Whether the pieces of tool calls in a chunk have no blocks in its content, because the content
/// is text or empty.
bool has_bare_pieces(const message_chunk& chunk) {
  const auto& m = chunk.part;
  if (chunk.is_last || chunk.call_chunks.empty())
    return false;
  if (m.blocks)
    return m.blocks->empty();
  const auto are_read = !m.tool_calls.empty() || !m.invalid_tool_calls.empty();
  return m.content.empty() || is_chat_completion(m) || !are_read;
}

/// Replaces blocks of parsed calls by blocks of their pieces, because the arguments are incomplete.
void put_pieces(json::array& blocks, const std::vector<tool_call_chunk>& calls) {
  const auto is_call = [](const json::value& block) {
    return has_type(block, "tool_call") || has_type(block, "invalid_tool_call");
  };
  blocks.erase(std::remove_if(blocks.begin(), blocks.end(), is_call), blocks.end());
  for (const auto& call : calls)
    blocks.push_back(call_chunk_block(call));
}

/// Represents an empty answer of Anthropic as an empty text block, as langchain-core does.
void add_silence(json::array& blocks, const message& m) {
  if (blocks.empty() && !m.blocks && m.type == message_type::ai && provider_of(m) == "anthropic")
    blocks.push_back(json::object{{"type", "text"}, {"text", ""}});
}

} // namespace

result<json::array> content_blocks(const message& m) {
  auto out = blocks_of({m});
  if (out)
    add_silence(*out, m);
  return out;
}

result<json::array> content_blocks(const message_chunk& chunk) {
  auto from = source{chunk.part};
  from.is_chunk = !chunk.is_last;
  if (from.is_chunk && chunk.call_chunks.size() == 1)
    from.piece = &chunk.call_chunks.front();
  auto out = blocks_of(from);
  if (!out)
    return out;
  if (has_bare_pieces(chunk))
    put_pieces(*out, chunk.call_chunks);
  add_silence(*out, chunk.part);
  return out;
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

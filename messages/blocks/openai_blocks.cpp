// SPDX-License-Identifier: Apache-2.0
// Converts the content of OpenAI's Responses answers to standard blocks; provider-run tools are in
// openai_server_blocks.cpp. Called by content_blocks.cpp. Follows langchain-core 1.7.2,
// messages/block_translators/openai.py.
#include "base/hex.hpp"
#include "block_parts.hpp"
#include "common_blocks.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace superstep::blocks {

namespace {

/// Copies the index with a prefix for the block type. One item may become several blocks, which
/// would otherwise have the same index.
void copy_index(json::object& into, const json::object& from, std::string_view prefix) {
  if (const auto* index = member(from, "index"))
    into["index"] = std::string{prefix} +
                    (index->is_string() ? std::string{index->get_string()} : to_text(*index));
}

/// Converts an annotation to a standard citation; unknown kinds are kept as
/// non_standard_annotation.
json::object annotation(const json::object& from) {
  const auto type = type_of(from);
  auto out = json::object{{"type", "citation"}};
  if (type == "url_citation") {
    copy_members(out, from, {"url", "title", "cited_text", "start_index", "end_index"});
    add_extras(out, from, {"type", "url", "title", "cited_text", "start_index", "end_index"});
    return out;
  }
  if (type == "file_citation") {
    copy_members(out, from, {"title", "cited_text", "start_index", "end_index"});
    if (const auto* name = from.if_contains("filename"))
      out["title"] = *name;
    add_extras(out, from, {"type", "title", "cited_text", "start_index", "end_index", "filename"});
    return out;
  }
  if (type == "citation")
    return from;
  return {{"type", "non_standard_annotation"}, {"value", from}};
}

/// Converts a text block. Only its annotations and its index differ from the standard form.
json::object openai_text_block(json::object block) {
  block.emplace("text", "");
  if (auto* list = block.if_contains("annotations"); list && list->is_array())
    for (auto& a : list->get_array())
      if (const auto* object = a.if_object())
        a = annotation(*object);
  copy_index(block, json::object{block}, "lc_txt_");
  return block;
}

/// Returns the bytes of a text in hexadecimal. langchain-core writes the index of a summary part in
/// this form, and chunks of a stream are merged by comparing it.
std::string hex_of(std::string_view text) {
  auto out = std::string{};
  for (const auto c : text)
    append_hex(out, static_cast<unsigned char>(c));
  return out;
}

/// Creates one reasoning block per entry of the summary. The other members go to the first block's
/// `extras`.
void add_reasoning(json::array& into, const json::object& block) {
  const auto* summary = block.if_contains("summary");
  if (!summary) {
    into.push_back(block);
    return;
  }
  const auto parts = summary->is_array() ? summary->get_array() : json::array{};
  const auto index_of = [](const json::value* part) {
    const auto* object = part ? part->if_object() : nullptr;
    const auto* index = object ? member(*object, "index") : nullptr;
    return index ? to_text(*index) : std::string{"0"};
  };
  for (auto i = std::size_t{0}; i < std::max(parts.size(), std::size_t{1}); ++i) {
    auto out = json::object{{"type", "reasoning"}};
    copy_members(out, block, {"id"});
    const auto* part = i < parts.size() ? &parts[i] : nullptr;
    if (part)
      out["reasoning"] = part->is_object() ? text_in(part->get_object(), "text") : "";
    if (const auto* index = member(block, "index"))
      out["index"] = "lc_rs_" + hex_of(to_text(*index) + '_' + index_of(part));
    if (i == 0)
      add_extras(out, block, {"type", "reasoning", "id", "index", "summary"});
    into.push_back(std::move(out));
  }
}

/// Converts a generated image; its parameters go to `extras`. A call without a result is not
/// finished and becomes non_standard instead.
void add_image(json::array& into, const json::object& block) {
  auto out = json::object{{"type", "image"}, {"base64", block.at("result")}};
  if (const auto format = text_in(block, "output_format"); !format.empty())
    out["mime_type"] = "image/" + std::string{format};
  copy_members(out, block, {"id"});
  copy_index(out, block, "lc_img_");
  for (const auto* key :
       {"status", "background", "output_format", "quality", "revised_prompt", "size"})
    if (const auto* value = block.if_contains(key))
      add_extra(out, key, *value);
  into.push_back(std::move(out));
}

/// Returns the message's call for this block, valid or invalid; an empty object if it has none.
json::object call_of(const json::object& block, const source& from) {
  if (from.piece)
    return call_chunk_block(*from.piece);
  const auto id = text_in(block, "call_id");
  for (const auto& call : from.whole.tool_calls)
    if (!id.empty() && call.id == id)
      return call_block(call);
  for (const auto& call : from.whole.invalid_tool_calls)
    if (!id.empty() && call.id == id)
      return {{"type", "invalid_tool_call"},
              {"name", call.name},
              {"args", call.args},
              {"id", call.id},
              {"error", call.error.empty() ? json::value{} : json::value(call.error)}};
  return {};
}

void add_function_call(json::array& into, const json::object& block, const source& from) {
  auto out = call_of(block, from);
  if (out.empty())
    return;
  if (const auto* id = block.if_contains("id"))
    add_extra(out, "item_id", *id);
  for (const auto* key : {"status", "namespace"})
    if (const auto* value = block.if_contains(key))
      add_extra(out, key, *value);
  copy_index(out, block, "lc_tc_");
  into.push_back(std::move(out));
}

} // namespace

void add_openai_blocks(json::array& into, const source& from) {
  const auto& content = *from.whole.blocks;
  for (const auto& element : content) {
    const auto* block = element.if_object();
    if (!block)
      continue;
    const auto type = type_of(*block);
    if (type == "text") {
      into.push_back(openai_text_block(*block));
    } else if (type == "reasoning") {
      add_reasoning(into, *block);
    } else if (type == "image_generation_call" && member(*block, "result")) {
      add_image(into, *block);
    } else if (type == "function_call") {
      add_function_call(into, *block, from);
    } else if (add_openai_server_blocks(into, *block, content)) {
      continue;
    } else if (is_standard_type(type)) {
      into.push_back(*block);
    } else {
      auto value = *block;
      value.erase("index");
      auto out = non_standard(std::move(value));
      copy_index(out, *block, "lc_ns_");
      into.push_back(std::move(out));
    }
  }
}

} // namespace superstep::blocks

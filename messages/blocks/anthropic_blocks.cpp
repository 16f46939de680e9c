// SPDX-License-Identifier: Apache-2.0
// Converts the content of Anthropic's answers to standard blocks. Called by content_blocks.cpp.
// Follows langchain-core 1.7.2, messages/block_translators/anthropic.py.
#include "block_parts.hpp"
#include "common_blocks.hpp"

#include <algorithm>
#include <utility>

namespace superstep::blocks {

namespace {

/// Converts a citation. Members that standard citations do not have are moved to `extras`.
json::object citation(const json::object& from) {
  const auto type = type_of(from);
  auto out = json::object{{"type", "citation"}, {"cited_text", text_in(from, "cited_text")}};
  if (type == "web_search_result_location") {
    copy_members(out, from, {"url", "title"});
    add_extras(out, from, {"type", "cited_text", "url", "title", "index", "extras"});
    return out;
  }
  if (!is_one_of(type, {"char_location", "content_block_location", "page_location",
                        "search_result_location"}))
    return {{"type", "non_standard_annotation"}, {"value", from}};
  const auto* title = from.contains("document_title") ? "document_title" : "title";
  if (const auto* value = from.if_contains(title))
    out["title"] = *value;
  add_extras(out, from, {"type", "cited_text", "document_title", "title", "index", "extras"});
  return out;
}

json::object text_block(const json::object& block) {
  auto out = json::object{{"type", "text"}, {"text", text_in(block, "text")}};
  const auto* citations = block.if_contains("citations");
  if (citations && citations->is_array() && !citations->get_array().empty()) {
    auto& annotations = out["annotations"].emplace_array();
    for (const auto& c : citations->get_array())
      if (const auto* object = c.if_object())
        annotations.push_back(citation(*object));
  }
  return out;
}

/// Converts a tool_use block. The message's parsed call is preferred, because the application may
/// have edited it; a streamed block becomes a tool_call_chunk.
json::object tool_use_block(const json::object& block, const source& from) {
  const auto& calls = from.whole.tool_calls;
  const auto id = text_in(block, "id");
  const auto call = calls.size() == 1
                        ? calls.begin()
                        : std::find_if(calls.begin(), calls.end(),
                                       [&](const tool_call& c) { return c.id == id; });
  auto out = json::object{};
  if (from.piece) {
    out = call_chunk_block(*from.piece);
  } else if (call != calls.end()) {
    out = call_block(*call);
  } else {
    const auto* input = block.if_contains("input");
    out = json::object{{"type", "tool_call"},
                       {"name", text_in(block, "name")},
                       {"args", input ? *input : json::value(json::object{})},
                       {"id", id}};
  }
  if (const auto* caller = block.if_contains("caller"))
    add_extra(out, "caller", *caller);
  return out;
}

/// Converts a call of a tool that the provider runs itself. `name` is the tool's standard name.
json::object server_call_block(const json::object& block, const source& from,
                               std::string_view name) {
  const auto* input = object_in(block, "input");
  const auto is_empty = !input || input->empty();
  // A stream sends the first piece without arguments.
  if (from.is_chunk && is_empty && !block.contains("partial_json"))
    return {{"type", "server_tool_call_chunk"},
            {"name", name},
            {"args", ""},
            {"id", text_in(block, "id")}};
  auto args = input ? *input : json::object{};
  if (is_empty) // a stream leaves `input` empty and sends the JSON text in `partial_json`
    (void)read_object(text_in(block, "partial_json"), args);
  return {{"type", "server_tool_call"},
          {"name", name},
          {"args", std::move(args)},
          {"id", text_in(block, "id")}};
}

/// Converts the result of a provider-run tool. Errors are reported by `is_error`, or by an
/// `error_code` inside the content.
json::object server_result_block(const json::object& block) {
  auto out = json::object{{"type", "server_tool_result"},
                          {"tool_call_id", text_in(block, "tool_use_id")},
                          {"status", "success"}};
  add_extra(out, "block_type", json::value(type_of(block)));
  const auto* output = member(block, "content");
  const auto is_empty = !output || *output == "" ||
                        (output->is_array() && output->get_array().empty()) ||
                        (output->is_object() && output->get_object().empty());
  if (!is_empty)
    out["output"] = *output;
  const auto* fault = output ? output->if_object() : nullptr;
  const auto* is_error = block.if_contains("is_error");
  if ((fault && member(*fault, "error_code")) || (is_error && *is_error == true))
    out["status"] = "error";
  add_extras(out, block, {"type", "tool_use_id", "content", "is_error", "index"});
  return out;
}

/// Converts a piece of arguments. If the chunk has no tool call, the piece belongs to a call of a
/// provider-run tool.
json::object delta_block(const json::object& block, const source& from) {
  if (from.piece)
    return call_chunk_block(*from.piece);
  return {{"type", "server_tool_call_chunk"}, {"args", text_in(block, "partial_json")}};
}

json::object standard(const json::object& block, const source& from) {
  const auto type = type_of(block);
  if (type == "text")
    return text_block(block);
  if (type == "thinking") {
    auto out = json::object{{"type", "reasoning"}, {"reasoning", text_in(block, "thinking")}};
    add_extras(out, block, {"type", "thinking", "index"});
    return out;
  }
  if (type == "tool_use")
    return tool_use_block(block, from);
  if (type == "input_json_delta" && from.is_chunk)
    return delta_block(block, from);
  if (type == "server_tool_use") {
    const auto name = text_in(block, "name");
    auto out = server_call_block(block, from, name == "code_execution" ? "code_interpreter" : name);
    add_extras(out, block, {"type", "name", "input", "partial_json", "id", "index"});
    return out;
  }
  if (type == "mcp_tool_use") {
    auto out = server_call_block(block, from, "remote_mcp");
    if (const auto* name = block.if_contains("name"))
      add_extra(out, "tool_name", *name);
    add_extras(out, block, {"type", "name", "input", "partial_json", "id", "index"});
    return out;
  }
  if (type.ends_with("_tool_result"))
    return server_result_block(block);
  auto value = block;
  value.erase("index");
  return non_standard(std::move(value));
}

} // namespace

void add_anthropic_blocks(json::array& into, const source& from) {
  for (const auto& element : *from.whole.blocks) {
    const auto* block = element.if_object();
    if (!block)
      continue; // a string is not a block and is left out, as in langchain-core
    // Blocks that the application added in standard form are kept. Only these types differ from
    // Anthropic's names.
    auto out = is_one_of(type_of(*block), {"reasoning", "tool_call", "non_standard"})
                   ? *block
                   : standard(*block, from);
    copy_members(out, *block, {"index"});
    into.push_back(std::move(out));
  }
}

} // namespace superstep::blocks

// SPDX-License-Identifier: Apache-2.0
// Converts content that is not an answer of a known provider: multimodal inputs of chat completions
// and Anthropic, and langchain's older data blocks. Also builds the blocks of tool calls.
#include "block_parts.hpp"
#include "common_blocks.hpp"

#include <utility>

namespace superstep::blocks {

namespace {

/// Returns a block with a generated id.
json::object made(std::string_view type, std::size_t position) {
  return {{"type", type}, {"id", "lc_block_" + std::to_string(position)}};
}

/// Adds the remaining members to `extras`, with a prefix that names their origin.
void add_extras_as(json::object& block, const json::object& from, std::string_view known,
                   std::string_view also_known, std::string_view prefix) {
  for (const auto& [key, value] : from)
    if (key != json::string_view{known} && key != json::string_view{also_known}) {
      // `detail` keeps its name because readers look for it without the prefix.
      const auto plain = key == "detail" ? std::string{} : std::string{prefix};
      add_extra(block, plain + std::string{key}, value);
    }
}

/// Converts image_url, input_audio and file of chat completions. Returns false for other
/// blocks.
bool read_openai_input(const json::object& block, std::size_t position, json::object& out) {
  const auto type = type_of(block);
  if (!is_one_of(type, {"image_url", "input_audio", "file"}))
    return false;
  const auto* inner = object_in(block, type);
  if (!inner)
    return false;
  // A block without a required member is not converted.
  const auto needs = [&](std::string_view key) { return !text_in(*inner, key).empty(); };
  if ((type == "image_url" && !needs("url")) ||
      (type == "input_audio" && (!needs("data") || !needs("format"))))
    return false;
  if (type == "image_url") {
    out = made("image", position);
    const auto url = text_in(*inner, "url");
    if (const auto data = read_data_url(url); !data.base64.empty()) {
      out["base64"] = data.base64;
      out["mime_type"] = data.mime_type;
    } else {
      out["url"] = url;
    }
    add_extras_as(out, *inner, "url", "", "image_url_");
  } else if (type == "input_audio") {
    out = made("audio", position);
    out["base64"] = text_in(*inner, "data");
    out["mime_type"] = "audio/" + std::string{text_in(*inner, "format")};
    add_extras_as(out, *inner, "data", "format", "audio_");
  } else if (const auto* id = member(*inner, "file_id")) {
    out = made("file", position);
    out["file_id"] = *id;
    add_extras_as(out, *inner, "file_id", "", "file_");
  } else {
    out = made("file", position);
    const auto data = read_data_url(text_in(*inner, "file_data"));
    if (data.base64.empty())
      return false;
    out["base64"] = data.base64;
    out["mime_type"] = data.mime_type;
    if (const auto* name = member(*inner, "filename"))
      add_extra(out, "filename", *name);
    add_extras_as(out, *inner, "file_data", "filename", "file_");
  }
  add_extras(out, block, {"type", type});
  return true;
}

/// Converts Anthropic's image and document blocks with a `source`.
bool read_anthropic_input(const json::object& block, json::object& out) {
  const auto type = type_of(block);
  const auto* source = object_in(block, "source");
  if (!source || !is_one_of(type, {"image", "document"}))
    return false;
  const auto kind = type_of(*source);
  out = json::object{{"type", type == "image" ? "image" : "file"}};
  if (kind == "base64") {
    out["base64"] = text_in(*source, "data");
    out["mime_type"] = text_in(*source, "media_type");
  } else if (kind == "url") {
    out["url"] = text_in(*source, "url");
  } else if (kind == "file") {
    out["id"] = text_in(*source, "file_id");
  } else if (kind == "text" && type == "document") {
    const auto mime_type = text_in(*source, "media_type");
    out = json::object{{"type", "text-plain"},
                       {"text", text_in(*source, "data")},
                       {"mime_type", mime_type.empty() ? "text/plain" : mime_type}};
  } else {
    out = non_standard(block);
    return true;
  }
  add_extras(out, block, {"type", "source"});
  return true;
}

/// Converts the form that preceded the standard, in which `source_type` names the kind of data.
result<json::object> read_older_form(const json::object& block, std::size_t position) {
  const auto kind = text_in(block, "source_type");
  auto out = json::object{{"type", type_of(block)}};
  copy_members(out, block, {"mime_type"});
  if (kind == "url") {
    copy_members(out, block, {"url", "id"});
    add_extras(out, block, {"type", "source_type", "mime_type", "url", "id"});
  } else if (kind == "base64") {
    copy_members(out, block, {"id"});
    out["base64"] = text_in(block, "data");
    add_extras(out, block, {"type", "source_type", "mime_type", "data", "id"});
  } else if (kind == "id") {
    if (type_of(block) == "file")
      out["id"] = made("", position).at("id");
    out["file_id"] = text_in(block, "id");
    add_extras(out, block, {"type", "source_type", "mime_type", "id"});
  } else if (kind != "text") {
    return block;
  } else {
    return error{errc::parse_failed, "a block of type \"" + std::string{type_of(block)} +
                                         "\" and source_type \"" + std::string{kind} +
                                         "\" cannot be converted to a standard content block"};
  }
  return out;
}

} // namespace

result<json::object> standard_block(const json::value& element, std::size_t position) {
  if (const auto* text = element.if_string())
    return json::object{{"type", "text"}, {"text", *text}};
  const auto& given = element.as_object();
  // A non_standard block may contain a block that can be converted here.
  const auto* wrapped = type_of(given) == "non_standard" ? object_in(given, "value") : nullptr;
  const auto& block = wrapped ? *wrapped : given;
  const auto type = type_of(block);
  if (is_one_of(type, {"image", "audio", "file"}) && block.contains("source_type"))
    return read_older_form(block, position);
  auto converted = json::object{};
  if (read_openai_input(block, position, converted) || read_anthropic_input(block, converted))
    return converted;
  if (is_standard_type(type))
    return block;
  if (type.empty() && block.size() == 1 && block.contains("text"))
    return json::object{{"type", "text"}, {"text", block.at("text")}};
  return wrapped ? given : non_standard(block);
}

json::object call_block(const tool_call& call) {
  return {{"type", "tool_call"}, {"name", call.name}, {"args", call.args}, {"id", call.id}};
}

json::object call_chunk_block(const tool_call_chunk& call) {
  const auto text = [](const std::optional<std::string>& t) {
    return t ? json::value(*t) : json::value{};
  };
  auto block = json::object{{"type", "tool_call_chunk"},
                            {"name", text(call.name)},
                            {"args", text(call.args)},
                            {"id", text(call.id)}};
  if (!call.index.is_null())
    block["index"] = call.index;
  return block;
}

} // namespace superstep::blocks

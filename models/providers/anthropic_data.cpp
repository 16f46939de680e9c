// SPDX-License-Identifier: Apache-2.0
// Converts images and documents in the standard or OpenAI's form to Anthropic's blocks.
#include "models/providers/anthropic_content.hpp"
#include "models/providers/json_parts.hpp"

#include <utility>

namespace superstep::providers {

namespace {

error refused(std::string_view text) {
  return bad_request("Anthropic does not accept this block: " + std::string{text});
}

/// Returns a URL source; for a data URL, a base64 source with its data.
result<json::object> source_of_url(std::string_view url) {
  constexpr auto scheme = std::string_view{"data:"};
  constexpr auto encoding = std::string_view{";base64,"};
  if (!url.starts_with(scheme)) {
    if (url.empty())
      return refused("its `url` is empty");
    return json::object{{"type", "url"}, {"url", url}};
  }
  const auto comma = url.find(encoding);
  if (comma == std::string_view::npos)
    return refused("a data URL must be base64: data:<mime type>;base64,<data>");
  return json::object{{"type", "base64"},
                      {"media_type", url.substr(scheme.size(), comma - scheme.size())},
                      {"data", url.substr(comma + encoding.size())}};
}

json::object base64_source(const json::object& block, std::string_view mime_type) {
  const auto data = text_in(block, block.contains("base64") ? "base64" : "data");
  return {{"type", "base64"}, {"media_type", mime_type}, {"data", data}};
}

/// Returns a source that contains the text of the document.
json::object text_source(const json::object& block) {
  const auto mime_type = text_in(block, "mime_type");
  return {{"type", "text"},
          {"media_type", mime_type.empty() ? "text/plain" : mime_type},
          {"data", text_in(block, "text")}};
}

bool is_base64(const json::object& block) {
  return block.contains("base64") || text_in(block, "source_type") == "base64";
}

/// Returns the id of a file. Blocks that were converted from Anthropic's form have it in `id`.
std::string_view file_of(const json::object& block) {
  const auto file = text_in(block, "file_id");
  return file.empty() ? text_in(block, "id") : file;
}

/// Builds the source of a standard block from the first of these that it has: text, URL, base64
/// data, file id.
result<json::object> source_of(const json::object& block) {
  const auto type = type_of(block);
  if (type == "text-plain" || text_in(block, "source_type") == "text") {
    if (!member(block, "text"))
      return refused("a document of plain text needs its `text`");
    return text_source(block);
  }
  if (block.contains("url"))
    return type == "image" ? source_of_url(text_in(block, "url"))
                           : json::object{{"type", "url"}, {"url", block.at("url")}};
  if (is_base64(block)) {
    const auto mime_type = text_in(block, "mime_type");
    if (type == "image" && mime_type.empty())
      return refused("base64 data of an image needs a `mime_type`");
    return base64_source(block, mime_type.empty() ? "application/pdf" : mime_type);
  }
  if (const auto file = file_of(block); !file.empty())
    return json::object{{"type", "file"}, {"file_id", file}};
  return refused("it needs `url`, `base64` or `file_id`");
}

/// Converts a file block of OpenAI's form to the standard form.
json::object standard_file(const json::object& block) {
  const auto& file = block.at("file").get_object();
  auto out = block;
  out.erase("file");
  put_as(out, "file_id", file, "file_id");
  constexpr auto encoding = std::string_view{";base64,"};
  const auto data = text_in(file, "file_data");
  const auto comma = data.starts_with("data:") ? data.find(encoding) : std::string_view::npos;
  if (comma == std::string_view::npos) {
    put_as(out, "base64", file, "file_data");
    return out;
  }
  out["mime_type"] = data.substr(5, comma - 5);
  out["base64"] = data.substr(comma + encoding.size());
  return out;
}

} // namespace

result<json::object> anthropic_data_block(const json::object& block) {
  const auto type = type_of(block);
  if (type == "file" && object_in(block, "file"))
    return anthropic_data_block(standard_file(block));
  if (type == "image_url") {
    const auto* inner = object_in(block, "image_url");
    const auto url = text_in(inner ? *inner : block, inner ? "url" : "image_url");
    if (!url.starts_with("data:image/") && !url.starts_with("https:") && !url.starts_with("http:"))
      return refused("the `url` of an image must be an http or https URL, or a data URL");
    auto source = source_of_url(url);
    if (!source)
      return source;
    return json::object{{"type", "image"}, {"source", *source}};
  }
  if (!is_one_of(type, {"image", "file", "text-plain"}))
    return refused("unsupported block type \"" + std::string{type} + '"');
  auto source = source_of(block);
  if (!source)
    return source;
  auto out = json::object{{"type", type == "image" ? "image" : "document"}};
  out["source"] = *std::move(source);
  // Options of a document may be in the block, in `extras` or in `metadata`. The first one found is
  // used.
  for (const auto* key : {"cache_control", "citations", "title", "context"})
    for (const auto* from : {&block, object_in(block, "extras"), object_in(block, "metadata")})
      if (from && from->contains(key)) {
        out[key] = from->at(key);
        break;
      }
  return out;
}

} // namespace superstep::providers

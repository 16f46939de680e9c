// SPDX-License-Identifier: Apache-2.0
// Accessors for JSON blocks that all converters in this folder share.
#include "block_parts.hpp"

#include <utility>

namespace superstep::blocks {

bool is_standard_type(std::string_view type) {
  return is_one_of(type, {"text", "reasoning", "tool_call", "tool_call_chunk", "invalid_tool_call",
                          "image", "audio", "video", "file", "text-plain", "server_tool_call",
                          "server_tool_call_chunk", "server_tool_result", "non_standard"});
}

void copy_members(json::object& into, const json::object& from,
                  std::initializer_list<std::string_view> keys) {
  for (const auto key : keys)
    if (const auto* value = from.if_contains(key))
      into[key] = *value;
}

void add_extra(json::object& block, std::string_view key, json::value value) {
  auto& extras = block["extras"];
  if (!extras.is_object())
    extras.emplace_object();
  extras.get_object()[key] = std::move(value);
}

void add_extras(json::object& block, const json::object& from,
                std::initializer_list<std::string_view> known) {
  for (const auto& [key, value] : from)
    if (!is_one_of(std::string_view{key.data(), key.size()}, known))
      add_extra(block, key, value);
}

json::object non_standard(json::value value) {
  auto block = json::object{{"type", "non_standard"}};
  block["value"] = std::move(value);
  return block;
}

data_url read_data_url(std::string_view url) {
  constexpr auto scheme = std::string_view{"data:"};
  constexpr auto encoding = std::string_view{";base64,"};
  const auto comma = url.find(encoding);
  if (!url.starts_with(scheme) || comma == std::string_view::npos || comma == scheme.size())
    return {};
  return {url.substr(scheme.size(), comma - scheme.size()), url.substr(comma + encoding.size())};
}

bool read_object(std::string_view text, json::object& into) {
  auto parsed = parse_json(text);
  if (!parsed || !parsed->is_object())
    return false;
  into = std::move(parsed->get_object());
  return true;
}

} // namespace superstep::blocks

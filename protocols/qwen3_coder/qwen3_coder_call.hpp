// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocols/qwen3_coder/qwen3_coder_tag.hpp"

#include <superstep/protocols/tool_protocol.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace superstep::qwen3_coder {

/// A call found in a text.
struct found_call {
  std::size_t from = 0; ///< where its text begins
  std::size_t to = 0;
  bool closed = false;    ///< by its own close tag, not by the next call
  std::string name;       ///< empty if it has none
  json::object arguments; ///< strings, or lists of strings for repeated keys
  std::string rest;       ///< text of the call outside its parameters
};

/// Returns the call elements of a text, in order.
/// @param nameless whether to include those without a name in the tag
[[nodiscard]] std::vector<found_call> calls_in(std::string_view s, bool nameless);

/// Returns the calls of a block: its call elements, or the block itself as one call. Empty if
/// nothing in it looks like a call. A call without a name gets `outer_name`.
[[nodiscard]] std::vector<found_call> calls_of_block(std::string_view body,
                                                     std::string_view outer_name);

/// Returns the call with its arguments coerced to the schema of its tool.
[[nodiscard]] parsed_call finished(found_call call, const std::vector<protocol_tool>& tools);

/// Returns the name in an incomplete call tag at the end of `s`; empty if there is none.
[[nodiscard]] std::string cut_name(std::string_view s);

/// Returns the value of a parameter's raw text: trimmed, without CDATA marks, entities decoded.
[[nodiscard]] std::string value_of(std::string_view raw);
void add_argument(json::object& arguments, std::string_view key, std::string_view value);

} // namespace superstep::qwen3_coder

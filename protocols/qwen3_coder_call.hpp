// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocols/qwen3_coder_tag.hpp"

#include <superstep/protocols/tool_protocol.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace superstep::qwen3_coder {

/// A call found in a text.
struct found_call {
  std::size_t from = 0; ///< of its text
  std::size_t to = 0;
  bool closed = false;    ///< by a tag of its own, not by what comes next
  std::string name;       ///< empty: it has none
  json::object arguments; ///< strings, or lists of strings for keys that stand several times
  std::string rest;       ///< what stands in it and belongs to no parameter
};

/// The call elements of a text, in order.
/// @param nameless those count as well that do not say their name in the tag
[[nodiscard]] std::vector<found_call> calls_in(std::string_view s, bool nameless);

/// The calls of a block: its call elements, or the block itself as one call. Empty: there is
/// nothing in it that looks like a call. A call without a name takes `outer_name`.
[[nodiscard]] std::vector<found_call> calls_of_block(std::string_view body,
                                                     std::string_view outer_name);

/// The call with its arguments bent to the schema of its tool.
[[nodiscard]] parsed_call finished(found_call call, const std::vector<protocol_tool>& tools);

/// The name in a call tag that ends before its `>`, at the end of `s`; empty: there is none.
[[nodiscard]] std::string cut_name(std::string_view s);

/// What the raw text of a parameter means: trimmed, out of its CDATA, entities decoded.
[[nodiscard]] std::string value_of(std::string_view raw);
void add_argument(json::object& arguments, std::string_view key, std::string_view value);

} // namespace superstep::qwen3_coder

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocols/qwen3_coder/qwen3_coder_tag.hpp"

#include <superstep/protocols/tool_protocol.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace superstep::qwen3_coder {

/// A call that was found in a text.
struct found_call {
  std::size_t from = 0;   ///< position at which the text of the call begins
  std::size_t to = 0;     ///< position after the text of the call
  bool closed = false;    ///< whether the call has a close tag
  std::string name;       ///< the name of the tool; empty if the call has no name
  json::object arguments; ///< strings, or lists of strings for repeated keys; not coerced yet
  std::string rest;       ///< text of the call outside its parameters
};

/// Returns the calls of a text that are elements such as `<function=…>`, in order.
/// @param nameless whether to include elements whose tag contains no name
[[nodiscard]] std::vector<found_call> calls_in(std::string_view s, bool nameless);

/// Iterates over the calls of a complete text.
class call_cursor {
public:
  explicit call_cursor(std::string_view text) noexcept : text_{text}, tags_{text} {}
  /// Returns the next tag, whatever it belongs to; nullopt at the end of the text.
  [[nodiscard]] std::optional<tag> next() { return tags_.next(); }
  /// Reads the tags of the call that `open` begins, and returns the tag that ends the call; nullopt
  /// if the call ends at the end of the text.
  /// @param inside if not null, set to the tags inside the call, at most tags_max
  [[nodiscard]] std::optional<tag> end_of(const tag& open, std::vector<tag>* inside);

  /// Maximum number of tags in one call; a call with more is invalid. Bounds the memory.
  static constexpr auto tags_max = std::size_t{100'000};

private:
  std::string_view text_;
  tag_cursor tags_;
  std::size_t reread_ = 0; // number of bytes that were read again; see reread_max
};

/// Returns the calls of a `<tool_call>` block. If the block has no call element but has parameters
/// or a name, the block itself is one call. Empty if nothing in it looks like a call.
/// @param body the text between the tags of the block
/// @param outer_name the name in the tag of the block; given to calls without a name
[[nodiscard]] std::vector<found_call> calls_of_block(std::string_view body,
                                                     std::string_view outer_name);

/// Converts a found call: coerces its arguments to the schema of its tool and formats them as JSON.
[[nodiscard]] parsed_call finished(found_call call, const std::vector<protocol_tool>& tools);

/// Returns the tool name in a call tag that is cut off at the end of `s`, such as `<function=get`;
/// empty if there is no such tag.
[[nodiscard]] std::string cut_name(std::string_view s);

/// Converts the raw text of a parameter to its value: removes white space and CDATA marks at both
/// ends and decodes entities.
[[nodiscard]] std::string value_of(std::string_view raw);
/// Adds an argument. If the key exists, its values become a list.
void add_argument(json::object& arguments, std::string_view key, std::string_view value);

} // namespace superstep::qwen3_coder

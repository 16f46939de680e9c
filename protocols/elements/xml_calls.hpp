// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/protocols/tool_protocol.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace superstep {

/// An index of tools by name. A text may contain thousands of tags, and each is looked up.
class tool_names {
public:
  explicit tool_names(const std::vector<protocol_tool>& tools);
  /// Returns the tool, or null if there is none with this name.
  [[nodiscard]] const protocol_tool* find(std::string_view name) const;
  /// Whether the name of any tool begins with this text.
  [[nodiscard]] bool may_become(std::string_view begin) const;

private:
  const std::vector<protocol_tool>& tools_;
  std::unordered_map<std::string_view, const protocol_tool*> by_name_;
};

/// A call in a text: an element named after a tool. Positions are byte offsets in the text.
struct xml_call {
  std::size_t from = 0;                ///< position of the open tag
  std::size_t to = 0;                  ///< position after the close tag
  std::size_t body_begin = 0;          ///< begin of the text between the tags
  std::size_t body_end = 0;            ///< end of the text between the tags
  const protocol_tool* tool = nullptr; ///< the called tool
};

/// The kind of tag that read_tool_tag() finds.
enum class tag_start {
  none,         ///< no open tag of a tool
  more,         ///< the text ends before the tag is complete
  open,         ///< `<name>`
  self_closing, ///< `<name />`
};
/// Parses the open tag of a tool.
/// @param at position of a `<` in the text
/// @param tool set to the tool whose name the tag contains, unless the result is `none` or `more`
/// @param end set to the position after the `>`, unless the result is `none` or `more`
[[nodiscard]] tag_start read_tool_tag(std::string_view text, std::size_t at,
                                      const tool_names& names, const protocol_tool*& tool,
                                      std::size_t& end);

/// Meaning of a close tag without `>` at the end of the text, such as `</search`.
enum class cut_close_tag { is_text, closes };

/// Returns all elements named after tools, in order, except those inside another call. An element
/// ends at its matching close tag; nested elements with the same name are skipped. An element
/// without a close tag is not a call. Linear in the length of the text.
/// @param cut whether a close tag without `>` at the end of the text closes a call
[[nodiscard]] std::vector<xml_call> find_xml_calls(std::string_view text, const tool_names& names,
                                                   cut_close_tag cut = cut_close_tag::is_text);

/// Returns the first call whose open tag is malformed in this way: a line that contains only the
/// name of the tool, with or without a colon. Elements with the arguments must follow.
[[nodiscard]] std::optional<xml_call> find_line_call(std::string_view text,
                                                     const tool_names& names);

/// Returns a call if the whole text is one malformed tag: a line `<name`, lines with the arguments,
/// and a line `/>`.
[[nodiscard]] std::optional<xml_call> find_torn_call(std::string_view text,
                                                     const tool_names& names);

/// Whether texts of only white space are returned as parts of an answer.
enum class blank_text { keep, drop };

/// Splits a complete answer into texts and calls. A call whose arguments cannot be parsed remains
/// text and is reported to `on_error`.
/// @param calls the calls in `text`, in order and without overlap
/// @param read returns the arguments of a call, or an error
/// @param on_error may be null
[[nodiscard]] std::vector<parsed_part>
split_at_calls(std::string_view text, const std::vector<xml_call>& calls, blank_text blanks,
               const std::function<result<json::value>(const xml_call&)>& read,
               const protocol_error_handler& on_error);

} // namespace superstep

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

/// Tools by name, for texts full of tags.
class tool_names {
public:
  explicit tool_names(const std::vector<protocol_tool>& tools);
  /// Returns the tool, or null if there is none with this name.
  [[nodiscard]] const protocol_tool* find(std::string_view name) const;
  /// Whether a name begins with this text.
  [[nodiscard]] bool may_become(std::string_view begin) const;

private:
  const std::vector<protocol_tool>& tools_;
  std::unordered_map<std::string_view, const protocol_tool*> by_name_;
};

/// An element named after a tool.
struct xml_call {
  std::size_t from = 0; ///< of its open tag
  std::size_t to = 0;   ///< behind its close tag
  std::size_t body_begin = 0;
  std::size_t body_end = 0;
  const protocol_tool* tool = nullptr;
};

enum class tag_start { none, more, open, self_closing };
/// Returns which tag of a tool begins at `at`: `<name>` or `<name />`. `more` if the text ends
/// before that is known.
/// @param end the position after its `>`
[[nodiscard]] tag_start read_tool_tag(std::string_view text, std::size_t at,
                                      const tool_names& names, const protocol_tool*& tool,
                                      std::size_t& end);

/// Returns all elements named after tools, except nested ones. An element ends at its matching
/// close tag, where nested elements of its name are counted; without one it is not a call. Linear.
[[nodiscard]] std::vector<xml_call> find_xml_calls(std::string_view text, const tool_names& names);

/// Returns a call whose open tag is only a line with the name of the tool, with or without a colon,
/// followed by elements.
[[nodiscard]] std::optional<xml_call> find_line_call(std::string_view text,
                                                     const tool_names& names);

/// Returns a call if the complete text has the form `<name` body `/>`, with the first and the last
/// part on separate lines.
[[nodiscard]] std::optional<xml_call> find_torn_call(std::string_view text,
                                                     const tool_names& names);

enum class blank_text { keep, drop };

/// Returns the texts and calls of a complete answer. A call whose body cannot be read remains text
/// and is reported to `on_error`.
/// @param read returns the arguments of one of the calls
/// @param blanks whether texts of white space only become parts
[[nodiscard]] std::vector<parsed_part>
split_at_calls(std::string_view text, const std::vector<xml_call>& calls, blank_text blanks,
               const std::function<result<json::value>(const xml_call&)>& read,
               const protocol_error_handler& on_error);

} // namespace superstep

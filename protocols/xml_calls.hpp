// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/protocols/tool_protocol.hpp>

#include <cstddef>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace superstep {

/// Tools by name, for texts full of tags.
class tool_names {
public:
  explicit tool_names(const std::vector<protocol_tool>& tools);
  /// Null: there is none of that name.
  [[nodiscard]] const protocol_tool* find(std::string_view name) const;
  /// Whether a name begins like this.
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
/// What `<name>` or `<name />` of a tool begins at `at`. more: the text ends before that shows.
/// @param end behind its `>`
[[nodiscard]] tag_start read_tool_tag(std::string_view text, std::size_t at,
                                      const tool_names& names, const protocol_tool*& tool,
                                      std::size_t& end);

/// All elements named after tools, those inside others left out. An element ends at the close tag
/// that matches when elements of its name in it are counted; without one it is no call. Linear.
[[nodiscard]] std::vector<xml_call> find_xml_calls(std::string_view text, const tool_names& names);

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#include "protocols/yaml_lines.hpp"

#include "protocols/coerce_text.hpp"

#include <algorithm>

namespace superstep {

namespace {

/// Calls `visit` with the lines that are not inside a block scalar, which holds whatever it likes.
/// @param visit false: stop
template <class Visit>
void for_each_structure_line(std::string_view text, const Visit& visit) {
  auto block_indent = std::string_view::npos; // of the key of an open block scalar
  for (auto from = std::size_t{0}; from < text.size();) {
    const auto end = std::min(text.find('\n', from), text.size());
    const auto line = text.substr(from, end - from);
    from = end + 1;
    const auto indent = line.find_first_not_of(' ');
    if (indent == line.npos || (block_indent != line.npos && indent > block_indent))
      continue;
    block_indent = line.npos;
    if (!visit(line, indent))
      return;
    const auto content = text::trim(line);
    const auto mark = content.find_last_of("|>");
    if (mark != content.npos && mark + 3 >= content.size() &&
        content.find_first_not_of("|>+-0123456789", mark) == content.npos &&
        (mark == 0 || content[mark - 1] == ' '))
      block_indent = indent;
  }
}

} // namespace

bool has_tab_indent(std::string_view text) {
  auto found = false;
  for_each_structure_line(text, [&](std::string_view line, std::size_t indent) {
    found = line[indent] == '\t' && line.find_first_not_of(" \t") != line.npos;
    return !found;
  });
  return found;
}

bool is_too_deep(std::string_view text, std::size_t depth_max) {
  auto depth = std::size_t{0};
  auto too_deep = false;
  for_each_structure_line(text, [&](std::string_view line, std::size_t) {
    auto marks = std::size_t{0}; // `- - -`, each opens a list
    auto before = '\n';
    for (auto i = std::size_t{0}; i < line.size() && !too_deep; ++i) {
      const auto c = line[i];
      const auto begins = std::string_view{"\n:-,[{?"}.find(before) != std::string_view::npos;
      if ((c == '[' || c == '{') && begins)
        ++depth;
      else if ((c == ']' || c == '}') && depth > 0)
        --depth;
      else if ((c == '-' || c == '?' || c == ':') && begins && line.substr(i + 1).starts_with(' '))
        ++marks;
      too_deep = depth + marks > depth_max;
      if (c != ' ')
        before = c;
    }
    return !too_deep;
  });
  return too_deep;
}

} // namespace superstep

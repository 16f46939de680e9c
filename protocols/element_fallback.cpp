// SPDX-License-Identifier: Apache-2.0
#include "protocols/element_fallback.hpp"

#include "protocols/coerce_schema.hpp"
#include "protocols/tool_xml_names.hpp"
#include "protocols/xml_elements.hpp"
#include "protocols/xml_scanner.hpp"

namespace superstep {

namespace {

/// Behind the last of the elements that `text` begins with; 0: it begins with none.
std::size_t end_of_elements(std::string_view text, const protocol_tool& tool) {
  const auto names = xml_names{schema::unwrap(tool.schema)};
  auto elements = xml_elements{names.raw};
  auto end = std::size_t{0};
  while (true) {
    const auto what = elements.next(text);
    if (elements.has_text() || what == xml_elements::event::none ||
        what == xml_elements::event::broken)
      return end;
    if (what == xml_elements::event::close)
      end = elements.begin();
  }
}

} // namespace

std::optional<xml_call> find_line_call(std::string_view text, const tool_names& names) {
  // A line with the name of a tool seldom is a call; few are tried, each up to the end.
  auto tries = std::size_t{16};
  for (auto from = std::size_t{0}; from < text.size() && tries > 0;) {
    const auto line_end = std::min(text.find('\n', from), text.size());
    auto line = trim_xml(text.substr(from, line_end - from));
    const auto begin = from;
    from = line_end + 1;
    if (line.ends_with(':'))
      line = trim_xml(line.substr(0, line.size() - 1));
    const auto* tool = names.find(line);
    if (tool == nullptr || line_end == text.size())
      continue;
    --tries;
    const auto length = end_of_elements(text.substr(from), *tool);
    if (length > 0)
      return xml_call{begin, from + length, from, from + length, tool};
  }
  return {};
}

std::optional<xml_call> find_torn_call(std::string_view text, const tool_names& names) {
  const auto all = trim_xml(text);
  const auto line_end = all.find('\n');
  constexpr auto end = std::string_view{"/>"};
  if (!all.starts_with('<') || line_end == all.npos || !all.ends_with(end))
    return {};
  const auto* tool = names.find(trim_xml(all.substr(1, line_end - 1)));
  const auto body = all.substr(line_end, all.size() - line_end - end.size());
  if (tool == nullptr || !body.ends_with('\n'))
    return {};
  const auto begin = static_cast<std::size_t>(body.data() - text.data());
  return xml_call{0, text.size(), begin, begin + body.size(), tool};
}

} // namespace superstep

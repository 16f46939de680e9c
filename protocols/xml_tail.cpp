// SPDX-License-Identifier: Apache-2.0
#include "protocols/xml_tail.hpp"

#include "protocols/xml_scanner.hpp"
#include "protocols/xml_sections.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace superstep {

namespace {

bool begins_name(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':';
}

/// The names of the elements that are open at the end of the text, tags inside of texts included.
std::vector<std::string_view> open_elements(std::string_view text) {
  auto open = std::vector<std::string_view>{};
  auto sections = xml_sections{text};
  auto tag = xml_tag{};
  for (auto at = text.find('<'); at != text.npos; at = text.find('<', at)) {
    const auto behind = sections.end_of(at);
    if (behind > at || !read_tag(text, at, tag)) {
      at = std::max(behind, at + 1);
      continue;
    }
    at = tag.end;
    if (tag.is_close) {
      const auto match = std::ranges::find(open.rbegin(), open.rend(), tag.name);
      if (match != open.rend())
        open.erase(match.base() - 1, open.end());
    } else if (!tag.is_empty && open.size() < xml_depth_max) {
      open.push_back(tag.name);
    }
  }
  return open;
}

/// Whether `</…` at the end of a text has the whole name of an open element.
bool closes_open(std::string_view text, std::size_t at) {
  const auto name = trim_xml(text.substr(at + 2));
  const auto open = open_elements(text.substr(0, at));
  return !name.empty() && std::ranges::find(open, name) != open.end();
}

} // namespace

std::optional<std::string_view> without_cut_tag(std::string_view text, bool is_inside) {
  const auto behind = text.rfind('>') + 1; // npos + 1 is 0
  const auto last = text.rfind('<');
  auto end = text.size();
  for (auto at = text.find('<', behind); at != text.npos; at = text.find('<', at + 1)) {
    const auto next = at + 1 < text.size() ? text[at + 1] : '\0';
    if (begins_name(next) || next == '?')
      return {};
    if (next == '!' && is_inside)
      return {};
    if (next == '/' && at == last && closes_open(text, at))
      return {};
    if (next == '/' || at + 1 == text.size() || !is_inside)
      end = std::min(end, at);
  }
  return text.substr(0, end);
}

} // namespace superstep

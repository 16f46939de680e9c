// SPDX-License-Identifier: Apache-2.0
// Parses tags, entities, CDATA sections and comments of XML-like text, and escapes text. Shared by
// morph_xml, yaml_xml and qwen3_coder.
#include "protocols/elements/xml_scanner.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

namespace superstep {
namespace {

/// Whether a byte ends the name of a tag. A table, because every byte of every name is tested.
constexpr auto name_ends = [] {
  auto out = std::array<bool, 256>{};
  for (auto c = 0U; c < out.size(); ++c)
    out[c] = is_xml_space(static_cast<char>(c));
  for (const auto c : std::string_view{"/><=\"'"})
    out[static_cast<unsigned char>(c)] = true;
  return out;
}();

bool ends_name(char c) noexcept {
  return name_ends[static_cast<unsigned char>(c)];
}

bool starts_name(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == ':' || static_cast<unsigned char>(c) >= 0x80;
}

} // namespace

bool read_tag(std::string_view text, std::size_t at, xml_tag& tag) {
  auto i = at + 1;
  tag = xml_tag{};
  tag.begin = at;
  if (i < text.size() && text[i] == '/') {
    tag.is_close = true;
    ++i;
    while (i < text.size() && is_xml_space(text[i]))
      ++i;
  }
  const auto name = i;
  if (i >= text.size() || !starts_name(text[i]))
    return false;
  while (i < text.size() && !ends_name(text[i]))
    ++i;
  tag.name = text.substr(name, i - name);
  const auto attributes = i;
  auto quote = '\0';
  for (; i < text.size(); ++i) {
    const auto c = text[i];
    if (quote != '\0') {
      if (c == quote)
        quote = '\0';
    } else if ((c == '"' || c == '\'') && text[i - 1] == '=') {
      quote = c;
    } else if (c == '>') {
      tag.end = i + 1;
      tag.is_empty = !tag.is_close && text[i - 1] == '/';
      tag.attributes = trim_xml(text.substr(attributes, i - attributes - (tag.is_empty ? 1 : 0)));
      return true;
    } else if (c == '<') {
      return false;
    }
  }
  return false;
}

std::string_view decode_entities(std::string_view text, std::string& buffer) {
  if (text.find('&') == text.npos)
    return text;
  buffer = decode_entities(text);
  return buffer;
}

std::string decode_entities(std::string_view text) {
  using namespace std::string_view_literals;
  constexpr auto entities =
      std::array{std::pair{"&lt;"sv, '<'}, std::pair{"&gt;"sv, '>'}, std::pair{"&amp;"sv, '&'},
                 std::pair{"&quot;"sv, '"'}, std::pair{"&apos;"sv, '\''}};
  auto out = std::string{};
  out.reserve(text.size());
  for (;;) {
    const auto at = std::min(text.find('&'), text.size());
    out += text.substr(0, at);
    text.remove_prefix(at);
    if (text.empty())
      return out;
    const auto* const found = std::ranges::find_if(
        entities, [&](const auto& entity) { return text.starts_with(entity.first); });
    out += found != entities.end() ? found->second : '&';
    text.remove_prefix(found != entities.end() ? found->first.size() : 1);
  }
}

std::size_t xml_sections::end_of(std::size_t at) noexcept {
  const auto rest = text_.substr(at, data_open.size());
  if (rest == data_open) {
    const auto begin = at + data_open.size();
    const auto end = has_data_end_ ? text_.find(data_close, begin) : text_.npos;
    if (end != text_.npos)
      return end + data_close.size();
    has_data_end_ = false;
    const auto bracket = text_.find('>', begin);
    return bracket == text_.npos ? text_.size() : bracket + 1;
  }
  if (!rest.starts_with(comment_open) || !has_comment_end_)
    return at;
  const auto end = text_.find(comment_close, at + comment_open.size());
  has_comment_end_ = end != text_.npos;
  return has_comment_end_ ? end + comment_close.size() : at;
}

namespace {

bool begins_name(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':';
}

/// Returns the names of the elements that are open at the end of the text. Tags inside string
/// properties are counted as well.
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

/// Whether the incomplete close tag at `at` already contains the whole name of an open element.
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

std::string escape_text(std::string_view text) {
  auto out = std::string{};
  out.reserve(text.size());
  for (auto i = std::size_t{0}; i < text.size(); ++i) {
    const auto c = text[i];
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>' && i >= 2 && text.substr(i - 2, 2) == "]]")
      out += "&gt;";
    else
      out += c;
  }
  return out;
}

std::string escape_attribute(std::string_view text, char quote) {
  auto out = std::string{};
  for (const auto c : text)
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == quote)
      out += quote == '"' ? "&quot;" : "&apos;";
    else
      out += c;
  return out;
}

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#include "protocols/xml_scanner.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace superstep {
namespace {

/// Asked for every byte of every name, hence a table.
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

} // namespace superstep

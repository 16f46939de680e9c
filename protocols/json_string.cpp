// SPDX-License-Identifier: Apache-2.0
#include "protocols/json_string.hpp"

#include "protocols/coerce_text.hpp"
#include "protocols/eight_bytes.hpp"

#include <cstdint>
#include <optional>

namespace superstep {

namespace {

void append_utf8(std::string& out, std::uint32_t c) {
  const auto byte = [&](std::uint32_t b) { out += static_cast<char>(b); };
  if (c < 0x80) {
    byte(c);
  } else if (c < 0x800) {
    byte(0xc0 | (c >> 6U));
    byte(0x80 | (c & 0x3fU));
  } else if (c < 0x10000) {
    byte(0xe0 | (c >> 12U));
    byte(0x80 | ((c >> 6U) & 0x3fU));
    byte(0x80 | (c & 0x3fU));
  } else {
    byte(0xf0 | (c >> 18U));
    byte(0x80 | ((c >> 12U) & 0x3fU));
    byte(0x80 | ((c >> 6U) & 0x3fU));
    byte(0x80 | (c & 0x3fU));
  }
}

std::optional<std::uint32_t> hex4(std::string_view s, std::size_t& at) {
  if (s.size() - at < 4)
    return {};
  auto v = std::uint32_t{0};
  for (auto i = 0; i < 4; ++i) {
    const auto c = text::lower(s[at++]);
    if (text::is_digit(c))
      v = v * 16 + static_cast<std::uint32_t>(c - '0');
    else if (c >= 'a' && c <= 'f')
      v = v * 16 + static_cast<std::uint32_t>(c - 'a' + 10);
    else
      return {};
  }
  return v;
}

/// Behind `\u`. False: there are no four digits.
bool read_unicode(std::string_view s, std::size_t& at, std::string& out) {
  const auto first = hex4(s, at);
  if (!first)
    return false;
  if (*first >= 0xd800 && *first < 0xdc00 && s.substr(at).starts_with("\\u")) {
    const auto back = at;
    at += 2;
    const auto second = hex4(s, at);
    if (second && *second >= 0xdc00 && *second < 0xe000) {
      append_utf8(out, 0x10000 + ((*first - 0xd800) << 10U) + (*second - 0xdc00));
      return true;
    }
    at = back;
  }
  // Half a pair cannot be written in UTF-8.
  append_utf8(out, *first >= 0xd800 && *first < 0xe000 ? 0xfffd : *first);
  return true;
}

} // namespace

std::size_t end_of_plain(std::string_view s, std::size_t at, char quote) noexcept {
  for (; s.size() - at >= 8; at += 8)
    if (const auto next = eight_bytes{s.data() + at};
        next.has(quote) || next.has('\\') || next.has_control())
      break;
  while (at < s.size() && s[at] != quote && s[at] != '\\' &&
         static_cast<unsigned char>(s[at]) >= 0x20)
    ++at;
  return at;
}

const char* read_json_string(std::string_view s, std::size_t& at, std::string& out) {
  const auto quote = s[at++];
  for (;;) {
    const auto from = at;
    at = end_of_plain(s, at, quote);
    out += s.substr(from, at - from);
    if (at >= s.size())
      return "a string has no end";
    if (s[at] == quote) {
      ++at;
      return nullptr;
    }
    if (s[at] != '\\')
      return "a control character in a string";
    ++at;
    if (at >= s.size())
      return "a string has no end";
    const auto c = s[at++];
    static constexpr auto names = std::string_view{"\"\\/bfnrt"};
    static constexpr auto values = std::string_view{"\"\\/\b\f\n\r\t"};
    if (const auto i = names.find(c); i != names.npos)
      out += values[i];
    else if (c == '\'' && quote == '\'')
      out += c;
    else if (c != 'u')
      return "JSON knows no such escape";
    else if (!read_unicode(s, at, out))
      return "\\u wants four hexadecimal digits";
  }
}

} // namespace superstep

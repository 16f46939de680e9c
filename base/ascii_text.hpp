// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace superstep {

/// Returns a letter of ASCII in lower case, and any other character unchanged. Does not depend on
/// the locale.
[[nodiscard]] constexpr char ascii_lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// Whether a character is a control character of ASCII, such as a line break.
[[nodiscard]] constexpr bool is_control(char c) noexcept {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

/// Whether two texts are equal apart from the case of their letters of ASCII.
[[nodiscard]] inline bool equal_any_case(std::string_view a, std::string_view b) noexcept {
  return std::ranges::equal(a, b, [](char x, char y) { return ascii_lower(x) == ascii_lower(y); });
}

/// Returns a text with its letters of ASCII in lower case.
[[nodiscard]] inline std::string ascii_lower(std::string_view text) {
  auto out = std::string{text};
  for (auto& c : out)
    c = ascii_lower(c);
  return out;
}

/// Returns a text without the spaces, tabs and line ends at both ends.
[[nodiscard]] inline std::string_view trimmed(std::string_view text) noexcept {
  constexpr auto blanks = std::string_view{" \t\r\n"};
  const auto first = text.find_first_not_of(blanks);
  return first == std::string_view::npos
             ? std::string_view{}
             : text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

/// Whether a text has only spaces, tabs and line ends.
[[nodiscard]] inline bool is_blank(std::string_view text) noexcept {
  return trimmed(text).empty();
}

} // namespace superstep

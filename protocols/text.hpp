// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/ascii_text.hpp"

#include <superstep/base/json.hpp>

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace superstep::text {

/// Returns the length in bytes of the white-space character at `at`; 0 if there is none. Unicode's
/// spaces count, because models write no-break and ideographic spaces around values.
[[nodiscard]] std::size_t space_at(std::string_view s, std::size_t at) noexcept;
/// Whether the text may begin with white space when more text follows: it is empty or ends within a
/// character that may be a space.
[[nodiscard]] inline bool may_become_space(std::string_view s) noexcept {
  constexpr auto space_bytes_max = std::size_t{3};
  return s.empty() || (s.size() < space_bytes_max && static_cast<unsigned char>(s.front()) >= 0x80);
}
/// Returns the text without white space at its beginning.
[[nodiscard]] std::string_view trim_start(std::string_view s) noexcept;
/// Returns the text without white space at both ends.
[[nodiscard]] std::string_view trim(std::string_view s) noexcept;
/// Whether the text is empty or only white space.
[[nodiscard]] inline bool is_blank(std::string_view s) noexcept {
  return trim_start(s).empty();
}
[[nodiscard]] std::string without_spaces(std::string_view s);

[[nodiscard]] constexpr bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

/// Parses a number of the form `-?digits`. Nullopt if the text has another form or the number does
/// not fit in 64 bits.
[[nodiscard]] std::optional<json::value> integer_of(std::string_view s) noexcept;
/// Parses a number of the form `-?digits[.digits][e[+-]digits]`. Integers of 64 bits are exact,
/// unlike in JavaScript, because they may be ids. All other numbers are converted to a double, then
/// by number_value(). Nullopt if the text has another form or the number does not fit a double.
[[nodiscard]] std::optional<json::value> number_of(std::string_view s) noexcept;
/// Parses `true` or `false` in upper or lower case. Nullopt for other texts.
[[nodiscard]] std::optional<bool> boolean_of(std::string_view s) noexcept;

/// Converts a number to JSON. A number without a fraction becomes an integer, so that 5.0 is
/// written as 5.
[[nodiscard]] json::value number_value(double d);
/// Formats a number as JavaScript does: 5, 0.001, 1e-7, 1e+21. Integers are exact.
/// @pre number.is_number()
[[nodiscard]] std::string number_text(const json::value& number);
/// Appends a value as compact JSON. Like append_text(), but numbers are formatted by number_text().
void append_javascript(std::string& out, const json::value& v);
/// Returns a string itself, and any other value as append_javascript() writes it.
[[nodiscard]] std::string javascript_text(const json::value& v);

[[nodiscard]] inline std::string_view view(const json::string& s) noexcept {
  return {s.data(), s.size()};
}
[[nodiscard]] inline std::string_view view(json::string_view s) noexcept {
  return {s.data(), s.size()};
}

/// Returns a string member; empty if the object has none with this key or it is not a string.
[[nodiscard]] inline std::string_view member_text(const json::object& of,
                                                  std::string_view key) noexcept {
  const auto* found = of.if_contains(key);
  return found != nullptr && found->is_string() ? view(found->get_string()) : std::string_view{};
}

} // namespace superstep::text

namespace superstep {

/// Eight bytes of a text that are tested together (SIMD within a register). Parsers use it to skip
/// ordinary text quickly.
class swar_word {
public:
  explicit swar_word(const char* begin) noexcept { std::memcpy(&word_, begin, sizeof word_); }

  [[nodiscard]] bool has(char c) const noexcept {
    return has_below(word_ ^ (ones * static_cast<unsigned char>(c)), 1);
  }
  [[nodiscard]] bool has_control() const noexcept { return has_below(word_, 0x20); }
  [[nodiscard]] bool is_printable_ascii() const noexcept {
    return ((word_ | (word_ + ones)) & highs) == 0 && !has_control();
  }

private:
  static constexpr auto ones = std::uint64_t{0x0101010101010101};
  static constexpr auto highs = ones << 7U;
  /// Whether a byte is below `n`, for `n` up to 0x80. Subtracting `n` from each byte sets the high
  /// bit of a byte that was below `n`; `~word` excludes bytes whose high bit was already set.
  static bool has_below(std::uint64_t word, std::uint64_t n) noexcept {
    return ((word - ones * n) & ~word & highs) != 0;
  }

  std::uint64_t word_ = 0;
};

} // namespace superstep

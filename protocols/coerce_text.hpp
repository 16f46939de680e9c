// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace superstep::text {

/// Length in bytes of the white space at `at`, 0: there is none. Unicode's spaces count, since
/// models write no-break and ideographic spaces around values.
[[nodiscard]] std::size_t space_at(std::string_view s, std::size_t at) noexcept;
[[nodiscard]] std::string_view trim_start(std::string_view s) noexcept;
[[nodiscard]] std::string_view trim(std::string_view s) noexcept;
[[nodiscard]] inline bool is_blank(std::string_view s) noexcept {
  return trim_start(s).empty();
}
[[nodiscard]] std::string without_spaces(std::string_view s);

[[nodiscard]] constexpr char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
[[nodiscard]] constexpr bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}
[[nodiscard]] bool equal_any_case(std::string_view a, std::string_view b) noexcept;

/// `-?digits[.digits][e[+-]digits]` and nothing else; nothing when it fits no double.
[[nodiscard]] std::optional<double> number_of(std::string_view s) noexcept;
/// true or false in any case.
[[nodiscard]] std::optional<bool> boolean_of(std::string_view s) noexcept;

/// A number as JSON data: whole ones are integers, so that 5.0 is written 5.
[[nodiscard]] json::value number_value(double d);
/// The same for every number in a value.
void whole_numbers(json::value& v);
/// A number as a person writes it: 5, 0.001, 1e-7, 1e+21.
[[nodiscard]] std::string number_text(double d);

[[nodiscard]] inline std::string_view view(const json::string& s) noexcept {
  return {s.data(), s.size()};
}
[[nodiscard]] inline std::string_view view(json::string_view s) noexcept {
  return {s.data(), s.size()};
}

} // namespace superstep::text

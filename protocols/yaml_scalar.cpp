// SPDX-License-Identifier: Apache-2.0
#include "protocols/coerce_text.hpp"
#include "protocols/yaml_reader.hpp"

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <optional>
#include <system_error>

namespace superstep {

namespace {

std::optional<double> digits_of(std::string_view s, int base) {
  if (s.empty())
    return {};
  auto value = 0.0;
  for (const auto c : s) {
    const auto letter = text::lower(c) - 'a';
    const auto digit = text::is_digit(c) ? c - '0' : letter >= 0 && letter < 6 ? letter + 10 : 99;
    if (digit >= base)
      return {};
    value = value * base + digit;
  }
  return value;
}

/// `[-+]? (.digits | digits[.digits?]) ([eE][-+]?digits)?`
std::optional<double> decimal_of(std::string_view s) {
  const auto negative = s.starts_with('-');
  if (negative || s.starts_with('+'))
    s.remove_prefix(1);
  auto rest = s;
  const auto skip_digits = [&] {
    const auto from = rest.size();
    while (!rest.empty() && text::is_digit(rest.front()))
      rest.remove_prefix(1);
    return from - rest.size();
  };
  auto digits = skip_digits();
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    digits += skip_digits();
  }
  if (digits == 0)
    return {};
  if (!rest.empty()) {
    if (rest.front() != 'e' && rest.front() != 'E')
      return {};
    rest.remove_prefix(1);
    if (rest.starts_with('-') || rest.starts_with('+'))
      rest.remove_prefix(1);
    if (skip_digits() == 0 || !rest.empty())
      return {};
  }
  auto value = 0.0;
  const auto read = std::from_chars(s.data(), s.data() + s.size(), value);
  if (read.ec == std::errc::result_out_of_range)
    return std::nullopt;
  return negative ? -value : value;
}

bool is_one_of(std::string_view s, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, s) != words.end();
}

} // namespace

json::value plain_scalar(std::string_view s) {
  if (s.empty() || is_one_of(s, {"~", "null", "Null", "NULL"}))
    return nullptr;
  if (is_one_of(s, {"true", "True", "TRUE"}))
    return true;
  if (is_one_of(s, {"false", "False", "FALSE"}))
    return false;
  if (s.starts_with("0o"))
    if (const auto value = digits_of(s.substr(2), 8))
      return text::number_value(*value);
  if (s.starts_with("0x"))
    if (const auto value = digits_of(s.substr(2), 16))
      return text::number_value(*value);
  const auto unsigned_part = s.substr(s.starts_with('-') || s.starts_with('+') ? 1 : 0);
  // JSON has neither; null is what it prints.
  if (is_one_of(unsigned_part, {".inf", ".Inf", ".INF"}) || is_one_of(s, {".nan", ".NaN", ".NAN"}))
    return nullptr;
  if (const auto value = decimal_of(s))
    return text::number_value(*value);
  return json::string_view{s.data(), s.size()};
}

} // namespace superstep

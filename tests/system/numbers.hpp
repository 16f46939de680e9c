// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace superstep::testing {

/// Returns the numbers in a text as people write them: `$1,234.5`, `20%` (0.2), `-.5`.
inline std::vector<double> numbers_in(std::string_view text) {
  auto out = std::vector<double>{};
  auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  for (auto i = std::size_t{0}; i < text.size();) {
    const auto is_fraction = text[i] == '.' && i + 1 < text.size() && is_digit(text[i + 1]);
    if (!is_digit(text[i]) && !is_fraction) {
      ++i;
      continue;
    }
    auto digits = std::string{};
    auto back = i;
    while (back > 0 && text[back - 1] == '$')
      --back;
    if (back > 0 && text[back - 1] == '-')
      digits += '-';
    for (; i < text.size(); ++i) {
      const auto has_next_digit = i + 1 < text.size() && is_digit(text[i + 1]);
      const auto is_exponent = text[i] == 'e' && i + 1 < text.size() &&
                               (has_next_digit || text[i + 1] == '-' || text[i + 1] == '+');
      if (is_digit(text[i]) || (text[i] == '.' && has_next_digit))
        digits += text[i];
      else if (is_exponent)
        digits.append(text.substr(i++, 2));
      else if (text[i] != ',' || !has_next_digit)
        break;
    }
    auto value = double{};
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    out.push_back(i < text.size() && text[i] == '%' ? value / 100 : value);
  }
  return out;
}

inline bool agree(double a, double b) {
  return std::abs(a - b) <= 0.01 * std::max(std::abs(a), std::abs(b)) + 1e-9;
}

/// Parses a text that is a single number, as above or a fraction like `3/4`.
inline std::optional<double> number_of(std::string_view text) {
  const auto all = numbers_in(text);
  if (all.size() == 2 && text.find('/') != std::string_view::npos)
    return all[0] / all[1];
  return all.size() == 1 ? std::optional{all[0]} : std::nullopt;
}

/// Whether two texts are single numbers that agree within 1 %.
inline bool agree(std::string_view a, std::string_view b) {
  const auto left = number_of(a);
  const auto right = number_of(b);
  return left && right && agree(*left, *right);
}

} // namespace superstep::testing

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace superstep::detail {

/// Returns an amount for people: $1234.50, $0.05, $0.0123, $0.0000042. Amounts below a dollar have
/// three significant digits, without zeros at the end, but at least two decimal places.
inline std::string usd_text(double dollars) {
  constexpr auto places_min = 2;
  constexpr auto places_max = 9; // costs are counted in billionths of a dollar
  // Sums in another order may differ in their last bits. Equal amounts have equal texts.
  dollars = std::round(dollars * 1e9) / 1e9;
  if (dollars >= 1 || dollars <= 0)
    return fmt::format("${:.{}f}", dollars, places_min);
  const auto magnitude = static_cast<int>(std::floor(std::log10(dollars)));
  const auto places = std::min(places_min - magnitude, places_max);
  auto text = fmt::format("${:.{}f}", dollars, places);
  for (auto left = places; left > places_min && text.ends_with('0'); --left)
    text.pop_back();
  return text;
}

} // namespace superstep::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <string>

namespace superstep::detail {

/// Returns an amount for people: $1234.50, $0.0123. Small amounts have three significant digits.
inline std::string usd_text(double dollars) {
  if (dollars >= 1 || dollars == 0)
    return fmt::format("${:.2f}", dollars);
  return fmt::format("${:.3g}", dollars);
}

} // namespace superstep::detail

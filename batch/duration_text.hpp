// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <string>

namespace superstep::detail {

/// Returns a duration for people, rounded to seconds: 12s, 3m05s, 1h02m.
inline std::string duration_text(double seconds) {
  const auto whole = std::llround(seconds);
  if (whole < 60)
    return fmt::format("{}s", whole);
  if (whole < 3600)
    return fmt::format("{}m{:02}s", whole / 60, whole % 60);
  return fmt::format("{}h{:02}m", whole / 3600, whole / 60 % 60);
}

} // namespace superstep::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>

namespace superstep::detail {

/// Longer durations count as this one, 100 years, so that sums with points in time cannot overflow.
inline constexpr auto duration_max = std::chrono::milliseconds{std::chrono::hours{24 * 365 * 100}};

/// Returns the point in time `length` after `start`; see duration_max.
[[nodiscard]] constexpr std::chrono::steady_clock::time_point
deadline_after(std::chrono::steady_clock::time_point start,
               std::chrono::milliseconds length) noexcept {
  return start + std::min(length, duration_max);
}

} // namespace superstep::detail

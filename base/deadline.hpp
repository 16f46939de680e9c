// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>

namespace superstep::detail {

/// Returns the point in time `length` after `start`. Lengths above 100 years count as 100 years, so
/// that the sum cannot overflow.
[[nodiscard]] constexpr std::chrono::steady_clock::time_point
deadline_after(std::chrono::steady_clock::time_point start,
               std::chrono::milliseconds length) noexcept {
  constexpr auto length_max = std::chrono::milliseconds{std::chrono::hours{24 * 365 * 100}};
  return start + std::min(length, length_max);
}

} // namespace superstep::detail

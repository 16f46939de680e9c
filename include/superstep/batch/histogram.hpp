// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstdint>

namespace superstep {

/// A histogram of durations. Its buckets are at most 1/16 wide, so percentiles are accurate to 6 %
/// in constant memory (8 KB). Not synchronised.
class histogram {
public:
  /// Adds one duration.
  void add(std::chrono::nanoseconds duration) noexcept;
  /// The number of durations added.
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  /// Returns the duration that `share` (0 to 1) of all durations do not exceed; 0 if there are
  /// none.
  [[nodiscard]] std::chrono::nanoseconds percentile(double share) const noexcept;

private:
  static constexpr std::size_t bits = 4; // buckets per power of two: 16
  std::array<std::uint64_t, 64 << bits> buckets_{};
  std::uint64_t count_ = 0;
};

} // namespace superstep

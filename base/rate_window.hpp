// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/detail/rate_limiter.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace superstep {

/// The sum of amounts in a sliding window of time, in constant memory. Amounts are collected in 600
/// slots per window. The window is extended by one slot, because its begin usually lies inside of a
/// slot, and by ten for different delays on the way to the server.
class rate_window {
public:
  using time_point = executor::time_point;

  explicit rate_window(std::chrono::nanoseconds window)
      : slot_{std::max(window / slots_per_window, std::chrono::nanoseconds{1})} {}

  /// Removes what has left the window.
  void advance(time_point now) noexcept {
    const auto first = number_of(now) - count + 1;
    // After a long pause, each slot is cleared once.
    for (auto n = std::max(first_, first - count); n < first; ++n) {
      auto& one = at(n);
      sum_ -= one;
      one = 0;
    }
    first_ = std::max(first_, first);
  }
  /// Adds an amount. advance() must have been called with this time.
  void add(time_point when, double amount) noexcept {
    at(number_of(when)) += amount;
    sum_ += amount;
  }
  /// Changes an amount that was added at a time, unless it has left the window.
  void change(time_point when, double by) noexcept {
    const auto n = number_of(when);
    if (n < first_ || n >= first_ + count)
      return;
    at(n) += by;
    sum_ += by;
  }
  /// The amounts in the window.
  [[nodiscard]] double sum() const noexcept { return sum_; }
  /// The amounts in the window up to a time.
  [[nodiscard]] double sum_until(time_point when) const noexcept {
    auto out = 0.0;
    for (auto n = first_; n <= std::min(number_of(when), first_ + count - 1); ++n)
      out += at(n);
    return out;
  }
  /// Returns when the sum has fallen to `target`, if nothing is added.
  [[nodiscard]] time_point when_at_most(double target) const noexcept {
    auto left = sum_;
    auto n = first_;
    for (; left > target && n < first_ + count; ++n)
      left -= at(n);
    return time_point{slot_ * (n + count - 1)};
  }
  /// The time in which an amount leaves the window.
  [[nodiscard]] std::chrono::nanoseconds length() const noexcept { return slot_ * (count - 1); }

private:
  static constexpr std::int64_t slots_per_window = 600;
  static constexpr std::int64_t count = slots_per_window + 11;

  [[nodiscard]] std::int64_t number_of(time_point t) const noexcept {
    return t.time_since_epoch() / slot_;
  }
  [[nodiscard]] double& at(std::int64_t n) noexcept {
    return slots_[static_cast<std::size_t>(n % count)];
  }
  [[nodiscard]] double at(std::int64_t n) const noexcept {
    return slots_[static_cast<std::size_t>(n % count)];
  }

  std::chrono::nanoseconds slot_;
  std::array<double, static_cast<std::size_t>(count)> slots_{};
  std::int64_t first_ = 0; ///< number of the oldest slot in the window
  double sum_ = 0;
};

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace superstep {

/// Counts of values in buckets of growing width. The width of a bucket is at most 1/32 of its lower
/// bound, so percentiles are accurate to 3 %. The smallest, largest and mean value are exact. The
/// memory depends only on the quotient of the largest and the smallest value, and is 16 KB at most.
class distribution {
public:
  /// A bar of a histogram: values from `from`, below `to`.
  struct bar {
    std::uint64_t from = 0;
    std::uint64_t to = 0;
    std::uint64_t count = 0;
  };

  /// Adds a value.
  void add(std::uint64_t value);
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] std::uint64_t min() const noexcept { return count_ > 0 ? min_ : 0; }
  [[nodiscard]] std::uint64_t max() const noexcept { return max_; }
  [[nodiscard]] double sum() const noexcept { return sum_; }
  /// Returns the mean; 0 if there are no values.
  [[nodiscard]] double mean() const noexcept {
    return count_ > 0 ? sum_ / static_cast<double>(count_) : 0;
  }
  /// Returns a value that a share of all values does not exceed; 0 if there are none.
  /// @param share from 0 to 1
  [[nodiscard]] std::uint64_t percentile(double share) const noexcept;
  /// Returns the buckets from the smallest to the largest value, empty ones included, merged to at
  /// most `bars_max` bars.
  [[nodiscard]] std::vector<bar> bars(std::size_t bars_max) const;

private:
  static constexpr std::size_t bits = 5; // buckets per power of two: 32
  [[nodiscard]] static std::size_t bucket_of(std::uint64_t value) noexcept;
  [[nodiscard]] static std::uint64_t start_of(std::size_t bucket) noexcept;

  /// Returns the count of a bucket, and makes room for it first.
  std::uint64_t& count_in(std::size_t bucket);

  std::vector<std::uint64_t> counts_; // of the buckets from `first_` to the last one with values
  std::size_t first_ = 0;
  std::uint64_t count_ = 0;
  std::uint64_t min_ = UINT64_MAX;
  std::uint64_t max_ = 0;
  double sum_ = 0;
};

/// A distribution of durations in whole microseconds. Percentiles are accurate to 3 %. Not
/// synchronised.
class histogram {
public:
  /// Adds one duration, rounded down to microseconds. A negative duration counts as 0.
  void add(std::chrono::nanoseconds duration) {
    const auto whole = std::chrono::floor<std::chrono::microseconds>(duration).count();
    microseconds_.add(whole > 0 ? static_cast<std::uint64_t>(whole) : 0);
  }
  /// The number of durations added.
  [[nodiscard]] std::uint64_t count() const noexcept { return microseconds_.count(); }
  /// Returns the duration that a share of all durations does not exceed; 0 if there are none.
  /// @param share from 0 to 1; 0.5 for the median
  [[nodiscard]] std::chrono::nanoseconds percentile(double share) const noexcept {
    return std::chrono::microseconds{microseconds_.percentile(share)};
  }
  /// The durations in microseconds.
  [[nodiscard]] const distribution& in_microseconds() const noexcept { return microseconds_; }

private:
  distribution microseconds_;
};

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace superstep::detail {

/// Decides how many rows of a job may run when rows end in a shortage of the machine, and how long
/// the job pauses.
///
/// A shortage halves the number and starts a pause; rows that meet the same shortage count once.
/// The pause doubles with each shortage until a row finishes. When as many rows have finished as
/// may run, the number rises by a quarter, up to the configured concurrency.
///
/// Not synchronised: used by the feeding thread only.
class shortage_control {
public:
  using time_point = std::chrono::steady_clock::time_point;

  shortage_control(std::size_t rows_max, std::chrono::milliseconds wait_max)
      : rows_max_{rows_max}, rows_{rows_max}, wait_max_{wait_max} {}

  /// Reports a row that ended in a shortage. True for the first since a row finished.
  bool met(time_point now);
  /// Reports that `total` rows have finished so far.
  void finished(std::uint64_t total, time_point now);

  [[nodiscard]] std::size_t rows() const noexcept { return rows_; }
  [[nodiscard]] bool is_active() const noexcept { return since_ || rows_ < rows_max_; }
  /// Returns the time until the next row may start.
  [[nodiscard]] std::chrono::nanoseconds pause(time_point now) const noexcept;
  /// Whether no row has finished for longer than the configured wait.
  [[nodiscard]] bool is_hopeless(time_point now) const noexcept;

private:
  std::size_t rows_max_;
  std::size_t rows_;
  std::chrono::milliseconds wait_max_;
  std::chrono::milliseconds pause_{0};
  time_point pause_end_{};
  std::optional<time_point> since_; ///< time of the first shortage since a row finished
  std::uint64_t finished_ = 0;
  std::uint64_t raised_at_ = 0; ///< finished rows when the number last changed
};

} // namespace superstep::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace superstep::detail {

/// Decides how many rows of a job run at a time when rows end in a shortage of the machine, and how
/// long the job waits.
///
/// A shortage halves the number and starts a pause, once for all rows that meet it together. The
/// pause doubles from one shortage to the next and ends with the first row that finishes. As many
/// finished rows as may run raise the number by a quarter, up to what the user allowed.
///
/// Not synchronised: the feeding thread owns it.
class shortage_control {
public:
  using time_point = std::chrono::steady_clock::time_point;

  shortage_control(std::size_t rows_max, std::chrono::milliseconds wait_max)
      : rows_max_{rows_max}, rows_{rows_max}, wait_max_{wait_max} {}

  /// A row has ended in a shortage. True for the first since rows finished.
  bool met(time_point now);
  /// `total` rows have finished so far.
  void finished(std::uint64_t total, time_point now);

  [[nodiscard]] std::size_t rows() const noexcept { return rows_; }
  [[nodiscard]] bool is_active() const noexcept { return since_ || rows_ < rows_max_; }
  /// Time until the next row may be started.
  [[nodiscard]] std::chrono::nanoseconds pause(time_point now) const noexcept;
  /// Whether no row has finished for longer than the user lets the job wait.
  [[nodiscard]] bool is_hopeless(time_point now) const noexcept;

private:
  std::size_t rows_max_;
  std::size_t rows_;
  std::chrono::milliseconds wait_max_;
  std::chrono::milliseconds pause_{0};
  time_point pause_end_{};
  std::optional<time_point> since_; ///< of the first shortage since a row finished
  std::uint64_t finished_ = 0;
  std::uint64_t raised_at_ = 0; ///< finished rows when the number changed last
};

} // namespace superstep::detail

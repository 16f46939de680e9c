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
/// A shortage halves the number of rows and starts a pause. Further rows that report a shortage
/// during the pause do not count again. The pause doubles with each shortage until a row finishes.
/// Whenever as many rows have finished as may run at a time, the number rises by a quarter, up to
/// the configured concurrency.
///
/// Only the feeding thread (see row_table) uses it, so it has no lock.
class shortage_control {
public:
  using time_point = std::chrono::steady_clock::time_point;

  shortage_control(std::size_t rows_max, std::chrono::milliseconds wait_max)
      : rows_max_{rows_max}, rows_{rows_max}, wait_max_{wait_max} {}

  /// Reports a row that ended in a shortage. Returns whether it is the first since a row finished.
  bool met(time_point now);
  /// Reports how many rows have finished since the job started.
  void finished(std::uint64_t total, time_point now);

  /// The number of rows that may run at a time.
  [[nodiscard]] std::size_t rows() const noexcept { return rows_; }
  /// Whether a shortage still has an effect on the job.
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
  std::uint64_t raised_at_ = 0; ///< value of `finished_` when `rows_` last changed
};

} // namespace superstep::detail

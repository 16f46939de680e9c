// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "held_rows.hpp"

#include <cstddef>
#include <cstdint>

namespace superstep::detail {

/// Measures the commits of a worker: how long the server needs for one, and how many rows it stores
/// per second. Both are smoothed.
class commit_pace {
public:
  /// Returns the time between two commits of one of `members` workers that the load of the server
  /// allows.
  [[nodiscard]] std::chrono::nanoseconds interval(std::uint32_t members) const noexcept;
  /// Returns the number of rows stored per second; 0 before the second commit with rows.
  [[nodiscard]] double rows_per_second() const noexcept { return rate_; }
  /// Adds a commit that has ended.
  /// @param rows the number of its rows
  void add(ledger_time begun, ledger_time ended, std::size_t rows) noexcept;

private:
  double latency_ = 0;  // of a commit, in nanoseconds; 0: none yet
  double rate_ = 0;     // rows stored per second
  ledger_time last_{0}; // end of the last commit with rows
};

} // namespace superstep::detail

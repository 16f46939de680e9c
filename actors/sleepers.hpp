// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/detail/executor.hpp>

#include <chrono>
#include <cstddef>
#include <vector>

namespace superstep {

/// The timers of suspended bodies: waits of a lane, ordered by the time at which they end.
///
/// A body that is destroyed abandons its wait but cannot remove it from here. Such waits are swept
/// lazily: when they are due, or when the heap has doubled since the last sweep. Until then an
/// abandoned wait keeps its memory. The cost of the sweeps is constant per wait, and the heap has
/// at most twice the size of its live waits plus sweep_min.
class sleepers {
public:
  using time_point = std::chrono::steady_clock::time_point;

  /// The size of the heap below which abandoned waits are not swept.
  static constexpr std::size_t sweep_min = 1'024;

  /// Adds a wait that ends at `due`.
  void add(time_point due, wait_ptr&& w);
  /// Removes and returns the earliest wait if it is due at `now`; otherwise returns null. The wait
  /// may be abandoned.
  [[nodiscard]] wait_ptr pop_due(time_point now) noexcept;
  /// The time at which the earliest wait is due; time_point::max() if there is none.
  [[nodiscard]] time_point earliest() const noexcept {
    return heap_.empty() ? time_point::max() : heap_.front().due;
  }
  [[nodiscard]] bool empty() const noexcept { return heap_.empty(); }
  /// The number of waits, including those that were abandoned and not swept yet.
  [[nodiscard]] std::size_t size() const noexcept { return heap_.size(); }
  void clear() noexcept { heap_.clear(); }

private:
  struct sleeper {
    time_point due;
    wait_ptr what;
    bool operator<(const sleeper& other) const noexcept { return due > other.due; }
  };

  void sweep() noexcept;

  std::vector<sleeper> heap_; // the earliest is at the front
  std::size_t sweep_at_ = sweep_min;
};

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace superstep {

/// The kinds of timers. A timer belongs to the run or call that it watches.
enum class timer_kind : std::uint8_t {
  deadline,   ///< the deadline of a run
  step_limit, ///< the timeout of a run's current step
  settle,     ///< a failed run stops waiting for offloaded bodies
  retry,      ///< the next attempt of a task
  call_limit, ///< a timeout of a call
};

/// A timer, which is part of the object that it watches. It must not be destroyed while it is set.
struct timer {
  using time_point = std::chrono::steady_clock::time_point;
  static constexpr auto unset = ~std::uint32_t{0};

  timer(timer_kind k, void* o) noexcept : owner{o}, kind{k} {}
  timer(const timer&) = delete;
  timer& operator=(const timer&) = delete;

  [[nodiscard]] bool is_set() const noexcept { return place != unset; }

  time_point due{};
  void* owner;
  std::uint32_t place = unset; ///< index in the heap
  timer_kind kind;
};

/// The timers of a lane, ordered by the time at which they are due. A timer is removed when what it
/// watches has ended, so that the heap contains only timers of live runs and calls. Setting and
/// clearing a timer takes logarithmic time. Has no clock.
class timer_heap {
public:
  using time_point = timer::time_point;

  timer_heap() = default;
  timer_heap(const timer_heap&) = delete;
  timer_heap& operator=(const timer_heap&) = delete;

  /// Sets a timer, or changes the time of one that is set.
  void set(timer& t, time_point due);
  /// Clears a timer. Does nothing if it is not set.
  void clear(timer& t) noexcept;
  /// Clears and returns the earliest timer if it is due at `now`; otherwise returns null.
  [[nodiscard]] timer* pop_due(time_point now) noexcept;
  /// The time at which the earliest timer is due; time_point::max() if no timer is set.
  [[nodiscard]] time_point earliest() const noexcept {
    return heap_.empty() ? time_point::max() : heap_.front()->due;
  }
  [[nodiscard]] bool empty() const noexcept { return heap_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return heap_.size(); }

private:
  friend class lane_inspector;

  void put(timer& t, std::size_t place) noexcept;
  void sift_up(std::size_t place) noexcept;
  void sift_down(std::size_t place) noexcept;

  std::vector<timer*> heap_;
};

} // namespace superstep

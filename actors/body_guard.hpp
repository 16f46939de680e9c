// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/thread_clock.hpp"

#include <superstep/base/detail/assert.hpp>

#include <atomic>
#include <cstdint>
#include <utility>

namespace superstep {

class worker;

/// The data that a lane shares with the watcher: whether the lane's thread is inside a body, which
/// thread it is, and the watcher's hint that the bodies of the lane are long.
///
/// The guard is a number: 0 outside bodies, and inside one an odd number that differs for each
/// execution. To take the lane from its thread, the watcher changes the number to 0.
class body_guard {
public:
  body_guard() = default;
  body_guard(const body_guard&) = delete;
  body_guard& operator=(const body_guard&) = delete;

  // Called by the thread that serves the lane.
  /// Reports that a thread now serves the lane.
  void set_server(worker& by, thread_clock clock) noexcept {
    clock_.store(clock, std::memory_order_relaxed);
    server_.store(&by, std::memory_order_release);
  }
  /// Enters a body. Returns the ticket for leave().
  [[nodiscard]] std::uint64_t enter() noexcept {
    SUPERSTEP_ASSERT(guard_.load(std::memory_order_relaxed) == 0);
    const auto ticket = (++sequence_ << 1) | 1;
    guard_.store(ticket, std::memory_order_release);
    return ticket;
  }
  /// Leaves the body. Returns whether the thread still serves the lane.
  [[nodiscard]] bool leave(std::uint64_t ticket) noexcept {
    return guard_.compare_exchange_strong(ticket, 0, std::memory_order_acq_rel);
  }
  /// Returns whether hint_heavy() was called since the last call.
  [[nodiscard]] bool take_hint() noexcept {
    return heavy_.load(std::memory_order_relaxed) &&
           heavy_.exchange(false, std::memory_order_relaxed);
  }

  // Called by the watcher.
  [[nodiscard]] std::uint64_t seen() const noexcept {
    return guard_.load(std::memory_order_acquire);
  }
  /// Takes the lane from its thread if that thread is still inside the body that it ran when
  /// seen() returned `before`. Returns whether it did; the caller must then call
  /// thread_pool::serve().
  [[nodiscard]] bool take_over(std::uint64_t before) noexcept {
    SUPERSTEP_ASSERT((before & 1) != 0);
    return guard_.compare_exchange_strong(before, 0, std::memory_order_acq_rel);
  }
  /// The thread that serves the lane, or that has served it last.
  [[nodiscard]] worker* server() const noexcept { return server_.load(std::memory_order_acquire); }
  /// The CPU time and the state of that thread, which may have ended.
  [[nodiscard]] thread_clock clock() const noexcept {
    return clock_.load(std::memory_order_acquire);
  }
  /// Reports that the bodies of the lane are long.
  void hint_heavy() noexcept { heavy_.store(true, std::memory_order_relaxed); }

private:
  std::atomic<std::uint64_t> guard_{0};
  std::atomic<bool> heavy_{false};
  std::uint64_t sequence_ = 0; // number of bodies that were entered
  std::atomic<worker*> server_{nullptr};
  std::atomic<thread_clock> clock_{};
};

} // namespace superstep

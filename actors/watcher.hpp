// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

namespace superstep {

namespace detail {
class engine_core;
} // namespace detail

/// The thread that keeps lanes from being blocked. It polls every lane each tick. A lane that is
/// inside the same body in two polls gets another thread. A lane whose bodies average more than 20
/// us passes the next ones to the job queue. The watcher sleeps while nothing runs.
///
/// It waits for a kernel timer, not for another thread. A thread that starts to run something sets
/// the timer and continues, without the cost of a thread switch for waking the watcher.
class watcher {
public:
  watcher(detail::engine_core& core, std::chrono::microseconds tick);
  watcher(const watcher&) = delete;
  watcher& operator=(const watcher&) = delete;
  ~watcher();

  void start();
  void stop();
  /// Reports that something has started to run: the next poll is one tick from now. Thread-safe;
  /// costs one load if the watcher is awake.
  void poke() noexcept {
    if (asleep_.load(std::memory_order_relaxed))
      wake();
  }

private:
  void wake() noexcept;
  void set_timer(std::chrono::nanoseconds each) noexcept;
  void wait_for_timer() noexcept;
  void run();
  [[nodiscard]] bool look();

  detail::engine_core& core_;
  const std::chrono::microseconds tick_;
  const int timer_;                 // a timerfd
  std::vector<std::uint64_t> seen_; // the guard of each lane at the last poll
  std::atomic<bool> asleep_{false};
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

} // namespace superstep

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

/// Looks at every lane each tick. A lane found inside the same body at two looks gets another
/// thread; a lane whose bodies average more than 20 us hands the next ones to the job queue.
/// Sleeps while nothing runs.
///
/// It waits for a timer of the kernel's, not for another thread: whoever begins to run sets that
/// timer and goes on, without the switch of threads that waking it would cost him.
class watcher {
public:
  watcher(detail::engine_core& core, std::chrono::microseconds tick);
  watcher(const watcher&) = delete;
  watcher& operator=(const watcher&) = delete;
  ~watcher();

  void start();
  void stop();
  /// Something has begun to run: there is a look a tick from now. Any thread; one load when the
  /// watcher is awake.
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
  std::vector<std::uint64_t> seen_; // guard of each lane at the last look
  std::atomic<bool> asleep_{false};
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

} // namespace superstep

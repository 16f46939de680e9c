// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace superstep {

class engine_core;

/// Looks at every lane each tick. A lane found inside the same body at two looks gets another
/// thread; a lane whose bodies average more than 20 us hands the next ones to the job queue.
/// Sleeps while nothing runs.
class watcher {
public:
  watcher(engine_core& core, std::chrono::microseconds tick);
  watcher(const watcher&) = delete;
  watcher& operator=(const watcher&) = delete;

  void start();
  void stop();
  /// Something has begun to run. Any thread; one load when the watcher is awake.
  void poke() noexcept {
    if (asleep_.load(std::memory_order_relaxed))
      wake();
  }

private:
  void wake() noexcept;
  void run();
  [[nodiscard]] bool look();

  engine_core& core_;
  const std::chrono::microseconds tick_;
  std::vector<std::uint64_t> seen_; // guard of each lane at the last look
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<bool> asleep_{false};
  bool stopping_ = false;
  std::thread thread_;
};

} // namespace superstep

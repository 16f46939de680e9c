// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

namespace superstep {

namespace detail {
class engine_core;
} // namespace detail

class lane;

/// The thread that keeps lanes from being blocked. It polls every lane each tick. If a lane is
/// inside the same body in two consecutive polls, the watcher gives the lane to another thread. If
/// a lane's bodies take more than 1/25 of a tick on average (20 us by default), the watcher gives
/// the lane a hint. The lane then runs the bodies of such nodes as jobs. The time for which the
/// lane's thread waits for a core does not count, because another thread would wait, too. If a lane
/// is idle, the watcher asks a lane that runs bodies to give runs away. The watcher sleeps while
/// nothing runs.
/// While lanes only wait for the disk, outside of bodies, it polls every eighth tick.
///
/// The watcher waits for a kernel timer, not for a condition variable. A thread that starts to run
/// something only sets the timer. Waking the watcher directly would cost that thread a thread
/// switch.
class watcher {
public:
  watcher(detail::engine_core& core, std::chrono::microseconds tick);
  watcher(const watcher&) = delete;
  watcher& operator=(const watcher&) = delete;
  ~watcher();

  void start();
  void stop();
  /// Reports that something has started to run, so that the next poll is one tick from now.
  /// Thread-safe; costs one load if the watcher is awake.
  void poke() noexcept {
    if (asleep_.load(std::memory_order_relaxed))
      wake();
  }

  /// The number of polls so far.
  [[nodiscard]] const std::atomic<std::uint32_t>& ticks() const noexcept { return ticks_; }

private:
  /// The activity of the lanes and of the thread pool, as one poll sees it.
  enum class activity : std::uint8_t {
    none,
    saves, ///< lanes save checkpoints, and nothing else runs
    bodies ///< something else runs or is about to run
  };

  /// The state of a lane, as one poll sees it.
  struct sight {
    std::uint64_t guard = 0;
    /// The CPU time of the lane's thread when the guard was first seen; nullopt if not known.
    std::optional<std::chrono::nanoseconds> used{};
  };

  void wake() noexcept;
  void sleep(std::chrono::microseconds each) noexcept;
  void set_timer(std::chrono::nanoseconds each) noexcept;
  void wait_for_timer() noexcept;
  void run();
  [[nodiscard]] activity poll();
  [[nodiscard]] static activity activity_of(lane& l);
  void share();

  detail::engine_core& core_;
  const std::chrono::microseconds tick_;
  const int timer_;                  // a timerfd (Linux)
  std::vector<sight> seen_;          // of each lane, at the last poll
  std::vector<lane*> running_;       // the lanes that run bodies, filled at each poll
  std::size_t next_asked_ = 0;       // where share() starts in running_, so that lanes take turns
  unsigned polls_of_saves_ = 0;      // number of polls in sequence that have seen only saves
  std::chrono::microseconds each_{}; // the interval while asleep_ is true
  std::atomic<std::uint32_t> ticks_{0};
  std::atomic<bool> asleep_{false}; // whether the interval is longer than a tick
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

} // namespace superstep

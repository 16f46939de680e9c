// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace superstep {

/// How an engine uses the machine.
struct engine_options {
  /// Lanes; each owns its runs and is served by one thread. 0: one per core.
  std::size_t workers = 0;
  /// Watcher polling interval. A body that still runs after two polls keeps its thread, and the
  /// lane moves to another.
  std::chrono::microseconds watcher_tick{500};
  /// All threads of the engine. At the bound a lane waits for its body.
  std::size_t threads_max = 256;
  /// Threads that were not needed for this long end; one spare thread stays.
  std::chrono::milliseconds thread_idle_time{5'000};
  /// Actors are taken from and given back to pools. Off: every run creates its own.
  bool pool_actors = true;
  /// Largest number of idle actors that a lane keeps.
  std::size_t pooled_actors_max = 65'536;
  /// Super-steps of one run before the lane serves its other runs.
  std::uint32_t steps_per_turn = 1'024;
  /// The longest time that the destructor waits for blocking bodies. After it their threads are
  /// detached.
  std::chrono::milliseconds shutdown_grace{5'000};
};

} // namespace superstep

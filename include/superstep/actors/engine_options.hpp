// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace superstep {

/// Options of an engine: threads, and the size of its pools.
struct engine_options {
  /// Number of lanes. Each owns its runs and is served by one thread. 0: one per core.
  std::size_t workers = 0;
  /// Polling interval of the watcher. A body that still runs after two polls keeps its thread, and
  /// another thread takes over the lane.
  std::chrono::microseconds watcher_tick{500};
  /// The largest number of threads. At the bound a lane waits for its body to return.
  std::size_t threads_max = 256;
  /// Time after which an unused thread ends; one spare thread always remains.
  std::chrono::milliseconds thread_idle_time{5'000};
  /// Whether actors are reused from pools. Otherwise each run creates its own.
  bool pool_actors = true;
  /// The largest number of idle actors in a lane's pool.
  std::size_t pooled_actors_max = 65'536;
  /// Number of super-steps of one run after which the lane serves its other runs.
  std::uint32_t steps_per_turn = 1'024;
  /// The longest time that the destructor waits for blocking bodies. After it their threads are
  /// detached.
  std::chrono::milliseconds shutdown_grace{5'000};
};

} // namespace superstep

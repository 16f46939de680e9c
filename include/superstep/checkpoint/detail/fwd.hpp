// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace superstep {

/// The behaviour of a run if another run, in this or another process, holds the lease on its
/// thread.
enum class busy_policy : std::uint8_t {
  wait,      ///< the run waits until the other run has ended
  refuse,    ///< the run fails with checkpoint_errc::in_use
  take_over, ///< the run starts at once; later writes of the other run fail
};

struct checkpoint;
struct effect_record;
struct graph_layout;
struct position;
struct saved_checkpoint;
struct task_record;
class checkpointer;
class store;
class memory_store;
class write_cache;
class memory_cache;
class sqlite_cache;

} // namespace superstep

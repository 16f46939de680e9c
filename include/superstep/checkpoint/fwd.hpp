// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace superstep {

/// What a run does when another run, of this process or another, has its thread.
enum class when_in_use : std::uint8_t {
  wait,      ///< until the other has ended
  refuse,    ///< fails with saver_errc::in_use
  take_over, ///< goes on at once; what the other writes from now on is refused
};

struct checkpoint;
struct effect_note;
struct graph_layout;
struct position;
struct saved_checkpoint;
struct task_record;
class saver;
class memory_saver;
class sqlite_saver;
class store;
class memory_store;
class write_cache;
class memory_cache;
class sqlite_cache;

} // namespace superstep

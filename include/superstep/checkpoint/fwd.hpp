// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace superstep {

struct checkpoint;
struct position;
struct saved_checkpoint;
struct task_record;
class saver;
class memory_saver;
class store;
class memory_store;
class write_cache;
class memory_cache;

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/checkpoint/checkpointer.hpp>
#include <superstep/runtime/run_config.hpp>

#include <memory>
#include <string>

namespace superstep::detail {

/// Identifies the task of a thread that a body executes. It is the same in every process that runs
/// the super-step again. Immutable; may outlive the run.
struct task_place {
  std::shared_ptr<const run_config> config; ///< its thread_id is the thread
  std::string ns;   ///< the namespace of the graph's checkpoints; see thread_key
  std::string task; ///< `path@id`: its path, and the id of the checkpoint before its super-step
  /// Stores the effect records of the task, even in a subgraph without checkpoints.
  std::shared_ptr<superstep::checkpointer> journal;
};
using task_place_ptr = std::shared_ptr<const task_place>;

} // namespace superstep::detail

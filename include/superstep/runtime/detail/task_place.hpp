// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/checkpoint/checkpointer.hpp>
#include <superstep/runtime/run_config.hpp>

#include <memory>
#include <string>

namespace superstep::detail {

/// Identifies the task of a thread that a body serves. It is the same in every process that runs
/// the super-step again. Immutable; may outlive the run.
struct task_place {
  std::shared_ptr<const run_config> config; ///< names the thread
  std::string ns;                           ///< the namespace of its checkpoints; see thread_key
  std::string task; ///< its path, and the id of the checkpoint that its super-step follows
  /// Stores the effect records of the task, also in a subgraph that has no checkpoints of its own.
  std::shared_ptr<superstep::checkpointer> journal;
};
using task_place_ptr = std::shared_ptr<const task_place>;

} // namespace superstep::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/checkpoint/checkpointer.hpp>
#include <superstep/runtime/run_config.hpp>

#include <memory>
#include <optional>
#include <string>

namespace superstep::detail {

/// Stores the effect records of a run's tasks, even in a subgraph without checkpoints.
struct effect_journal {
  std::shared_ptr<superstep::checkpointer> records; ///< null: the run has none
  /// The lease of the outermost run on the thread, which ends with that run. Unset if it has none.
  std::optional<std::weak_ptr<const thread_lease>> lease{};

  /// Whether the run still has the right to write to the thread. May be called from any thread.
  [[nodiscard]] bool may_write() const noexcept {
    if (!lease)
      return true;
    const auto held = lease->lock();
    return held && held->is_held();
  }
};

/// Identifies the task of a thread that a body executes. It is the same in every process that runs
/// the super-step again. Immutable; may outlive the run.
struct task_place {
  std::shared_ptr<const run_config> config; ///< its thread_id is the thread
  std::string ns;   ///< the namespace of the graph's checkpoints; see thread_key
  std::string task; ///< `path@id`: its path, and the id of the checkpoint before its super-step
  effect_journal journal;
};
using task_place_ptr = std::shared_ptr<const task_place>;

} // namespace superstep::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/checkpoint/checkpointer.hpp>
#include <superstep/runtime/run_config.hpp>

#include <memory>
#include <string>

namespace superstep::detail {

/// Which task of a kept run a body serves: the same in whatever process the super-step is run
/// again. Immutable; may outlive the run.
struct task_place {
  std::shared_ptr<const run_config> config; ///< names the thread
  std::string ns;                           ///< of its checkpoints; see thread_key
  std::string task; ///< its path, and the checkpoint that its super-step follows
  /// Where effects of the task are noted: also below a subgraph that keeps nothing itself.
  std::shared_ptr<superstep::checkpointer> journal;
};
using task_place_ptr = std::shared_ptr<const task_place>;

} // namespace superstep::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/step.hpp"

#include <cstdint>
#include <exception>
#include <memory>

namespace superstep {

struct nested_in;

/// The barrier of a step with many writes, or of a graph with slow barriers. A job thread applies
/// the writes, because the other runs of the lane would wait too long. Meanwhile the run has a
/// stand-in for its position, with the state of the step before, and can be cancelled like any
/// other run.
struct large_barrier {
  /// Keeps the namespace alive to which the ids of `state` refer, because the run may end first.
  std::shared_ptr<const nested_in> below;
  run_state state;         ///< the position of the run
  super_step step;         ///< the step whose tasks have ended
  std::uint32_t since = 0; ///< coordinator_host::ticks() when it was offloaded
  result<void> applied;
  std::exception_ptr thrown; ///< the exception of user code outside bodies, if it threw one

  /// Applies the step, and destroys what its tasks have read and written.
  void run() noexcept {
    try {
      applied = apply(state, step);
      if (applied)
        step.drop_values();
    } catch (...) { // user code may throw any type
      thrown = std::current_exception();
    }
  }
};

} // namespace superstep

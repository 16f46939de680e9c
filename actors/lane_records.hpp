// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "call.hpp"
#include "pooled_actor.hpp"
#include "run.hpp"

#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

namespace superstep {

/// The record of a run on a lane, with the actors of the run.
struct lane_run final : run {
  pooled_actor_ptr coordinator; ///< the actor of the run; an exit message to it ends the run
  std::vector<pooled_actor_ptr> node_actors; ///< by node number; null until the node first runs
  /// Whether other threads have got the coordinator, so that messages to it may be on their way.
  /// Set by bodies, on any thread.
  std::atomic<bool> is_shown{false};
};

/// The record of a call on a lane, with the actor that it uses.
struct lane_call final : call {
  using call::call;
  pooled_actor_ptr actor;

  /// The actor of the call, and the coordinator of its run; null if the lane has abandoned the
  /// call. Called by the body.
  [[nodiscard]] pooled_actor_ptr actor_handle() {
    const auto lock = std::scoped_lock{stop_mutex_};
    return actor;
  }
  [[nodiscard]] pooled_actor_ptr coordinator_handle() {
    // The run keeps its coordinator until it has abandoned its calls.
    const auto lock = std::scoped_lock{stop_mutex_};
    if (owner == nullptr)
      return nullptr;
    auto& r = static_cast<lane_run&>(*owner);
    r.is_shown.store(true, std::memory_order_relaxed);
    return r.coordinator;
  }
  /// Returns the actor and clears it.
  [[nodiscard]] pooled_actor_ptr take_actor() noexcept {
    if (phase == call_phase::idle || phase == call_phase::in_place)
      return std::exchange(actor, nullptr);
    const auto lock = std::scoped_lock{stop_mutex_}; // the body may be asking for its handle
    return std::exchange(actor, nullptr);
  }
};

[[nodiscard]] inline lane_run& on_lane(run& r) noexcept {
  return static_cast<lane_run&>(r);
}
[[nodiscard]] inline lane_call& on_lane(call& c) noexcept {
  return static_cast<lane_call&>(c);
}
[[nodiscard]] inline const lane_call& on_lane(const call& c) noexcept {
  return static_cast<const lane_call&>(c);
}

} // namespace superstep

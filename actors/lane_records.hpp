// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "call.hpp"
#include "pooled_actor.hpp"
#include "run.hpp"

#include <superstep/base/detail/cache_lines.hpp>

#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

namespace superstep {

/// The record of a run on a lane, with the actors of the run.
struct lane_run final : run, on_cache_lines {
private:
  std::atomic<bool> is_shown{false}; // set after coordinator_
  tiny_mutex mutex_;
  pooled_actor_ptr coordinator_;

public:
  /// The actors of the nodes, by node number. Null until the node runs, and while no one needs it.
  detail::thin_list<pooled_actor_ptr> node_actors;

  /// The actor of the run; an exit message to it ends the run. Created by the first function that
  /// needs a handle to it, on any thread.
  [[nodiscard]] pooled_actor_ptr coordinator_handle(superstep::lane& on);
  /// Whether the actor of the run has ended, so that the run ends soon.
  [[nodiscard]] bool has_exited() const noexcept {
    return is_shown.load(std::memory_order_acquire) && pooled_actor_of(coordinator_).is_dead();
  }
  /// Whether other threads may have the coordinator, so that messages to it may be on their way.
  [[nodiscard]] bool is_known() const noexcept { return is_shown.load(std::memory_order_acquire); }
  /// Returns the actor of the run and clears it.
  [[nodiscard]] pooled_actor_ptr take_coordinator() noexcept {
    const auto lock = std::scoped_lock{mutex_}; // a body of the run may be asking for the handle
    is_shown.store(false, std::memory_order_relaxed);
    return std::exchange(coordinator_, nullptr);
  }
};

/// The record of a call on a lane, with the actor that it uses.
///
/// While a body waits and no other function has a handle to its actor, the call needs none: the
/// actor returns to the pool. If a function asks for it later, it gets another one.
struct lane_call final : call {
  using call::call;
  bool is_acquired : 1 = false; ///< whether the lane has acquired the actor to run the body
  /// Whether the actor ends with the call although it is that of a node, because another call of
  /// the node has a different one. Set when an activation is mailed.
  bool has_own_actor : 1 = false;
  pooled_actor_ptr actor;

  /// Returns the actor of the call; null if the lane has abandoned the call. Creates the actor if
  /// necessary. Called by the body and, while the body does not run, by the lane.
  [[nodiscard]] pooled_actor_ptr actor_handle();
  /// The coordinator of the run; null if the lane has abandoned the call. Called by the body.
  [[nodiscard]] pooled_actor_ptr coordinator_handle() {
    // The run keeps its coordinator until it has abandoned its calls.
    const auto lock = std::scoped_lock{stop_mutex_};
    return owner == nullptr ? nullptr
                            : static_cast<lane_run&>(*owner).coordinator_handle(owner_lane());
  }
  /// Returns the actor, or null if the call has none now. Valid until the lane takes the actor.
  [[nodiscard]] pooled_actor* current_actor() noexcept {
    const auto lock = std::scoped_lock{stop_mutex_}; // a body may be asking for its handle
    return actor ? &pooled_actor_of(actor) : nullptr;
  }
  /// Releases the actor if the lane has acquired it to run the body.
  void release_acquired() {
    if (!is_acquired)
      return;
    is_acquired = false;
    pooled_actor_of(actor).release(); // nothing replaces an actor that is acquired
  }
  /// Returns the actor and clears it. Also separates a detached call from its run, so that no body
  /// that it has forked creates another actor.
  [[nodiscard]] pooled_actor_ptr take_actor() noexcept {
    if (phase == call_phase::idle || phase == call_phase::in_place)
      return std::exchange(actor, nullptr);
    const auto lock = std::scoped_lock{stop_mutex_};
    owner = nullptr;
    return std::exchange(actor, nullptr);
  }
  /// Returns the actor and clears it, if nothing but the lane refers to it, with `handles` handles.
  /// Otherwise returns null.
  [[nodiscard]] pooled_actor_ptr take_unknown_actor(std::size_t handles) noexcept {
    const auto lock = std::scoped_lock{stop_mutex_};
    return actor && pooled_actor_of(actor).is_ours_alone(handles) ? std::exchange(actor, nullptr)
                                                                  : nullptr;
  }
};

static_assert(sizeof(lane_call) <= 312, "a waiting call has a record of this size");
static_assert(sizeof(lane_run) <= 632, "a run record has ten cache lines; see take_cache_lines()");

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

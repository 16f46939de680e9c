// SPDX-License-Identifier: Apache-2.0
// The idle actors of a lane.
#include "idle_actors.hpp"

#include <superstep/base/detail/assert.hpp>

#include <algorithm>

namespace superstep {

pooled_actor_ptr idle_actors::take(const actor_assignment& assignment) {
  auto taken = pooled_actor_ptr{};
  if (idle_.empty()) {
    if (idle_.capacity() < idle_max_) // so that give_back() rarely allocates
      idle_.reserve(std::max(idle_.capacity() * 2, std::size_t{16}));
    taken = make_pooled_actor(system_);
  } else {
    taken = std::move(idle_.back());
    idle_.pop_back();
    SUPERSTEP_ASSERT(pooled_actor_of(taken).assignment.lane == nullptr);
  }
  pooled_actor_of(taken).assignment = assignment;
  return taken;
}

void idle_actors::give_back(pooled_actor_ptr&& given) noexcept {
  auto returned = std::move(given);
  if (!returned)
    return;
  auto& actor = pooled_actor_of(returned);
  // While the actor is acquired, no other thread runs it; without other handles it receives no
  // messages. Otherwise a late exit message could kill it during its next assignment. An actor that
  // is not reused ends, which notifies its monitors and links; so nothing that was attached to it
  // belongs to a later assignment. A call may continue without the actor, so the lane gets no
  // report of its end.
  if (actor.try_acquire()) {
    const auto is_alone = actor.is_ours_alone();
    actor.assignment = {};
    actor.release();
    const auto has_room = idle_.size() < idle_max_ && idle_.size() < idle_.capacity();
    if (has_room && is_alone && !actor.is_dead()) {
      idle_.push_back(std::move(returned)); // has capacity, so it does not allocate
      return;
    }
  }
  actor.retire();
}

} // namespace superstep

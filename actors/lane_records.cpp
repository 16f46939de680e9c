// SPDX-License-Identifier: Apache-2.0
// Creates the actors of runs and calls that other actors ask for.
#include "lane_records.hpp"

#include "lane.hpp"

namespace superstep {

pooled_actor_ptr lane_run::coordinator_handle(superstep::lane& on) {
  const auto lock = std::scoped_lock{mutex_};
  if (!coordinator_) {
    coordinator_ = make_pooled_actor(on.actor_system());
    pooled_actor_of(coordinator_).assignment = {
        actor_kind::coordinator, &on, this, nullptr, generation, 0, detail::program::no_node};
    is_shown.store(true, std::memory_order_release);
  }
  return coordinator_;
}

pooled_actor_ptr lane_call::actor_handle() {
  const auto lock = std::scoped_lock{stop_mutex_};
  if (!actor && owner != nullptr) {
    const auto is_tool = is(call_trait::is_forked) || input.payload != nullptr ||
                         input.node == detail::program::no_node;
    actor = make_pooled_actor(owner_lane().actor_system());
    pooled_actor_of(actor).assignment = {is_tool ? actor_kind::tool : actor_kind::node,
                                         &owner_lane(),
                                         owner,
                                         this,
                                         owner->generation,
                                         generation,
                                         input.node};
  }
  return actor;
}

} // namespace superstep

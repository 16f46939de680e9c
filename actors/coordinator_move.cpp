// SPDX-License-Identifier: Apache-2.0
// How a run leaves a coordinator and continues on another one (run_sharing.hpp).
#include "coordinator.hpp"
#include "user_code.hpp"

#include <utility>

namespace superstep {

namespace {

/// Moves the contents of a run at the start of a super-step to another record, whose run has ended.
void move_contents(run& from, run& to) noexcept {
  std::swap(static_cast<run_contents&>(from), static_cast<run_contents&>(to));
  if (to.own_extras)
    to.own_extras->belong_to(to);
  SUPERSTEP_ASSERT(!from.own_extras); // `to` had none, because its run has ended
}

/// Whether all members of a run are empty that do not move with it and that do not belong to its
/// record.
[[maybe_unused]] bool is_at_boundary(const run& r) noexcept {
  const auto& extras = r.extras();
  return r.root == &r && !r.turn.is_listed() && r.detached_tasks == 0 && r.open.empty() &&
         r.again.empty() && !extras.failure && !extras.broken && !extras.cancelled &&
         r.offloaded == 0 && r.barriers_offloaded == 0 && r.first_end_ns == 0 &&
         extras.starts.empty() && !extras.turn_of_forks.is_listed() && extras.retries.empty() &&
         !extras.interrupts && !extras.to_parent && extras.interrupts_by_task.empty() &&
         extras.handled.empty() && !extras.settle_timer.is_set();
}

} // namespace

void run_coordinator::give_away(run& r, run& to) noexcept {
  // A task that was retried at once has listed the run, although its turn has not ended.
  ready_queue::remove(r.group(), r.turn);
  SUPERSTEP_ASSERT(r.phase == run_phase::running && is_at_boundary(r));
  transition(r, run_phase::ending);
  live_.erase(r.number);
  ++r.generation;
  host_.release(r);
  if (r.own_extras) // adopt() sets it again
    timers_.clear(r.own_extras->step_timer);
  move_contents(r, to);
  release(r);
}

void run_coordinator::adopt(run& from) noexcept {
  constexpr auto* what = "a move of the run to another thread";
  auto* const entered = enter(from.number, from.request.done, what, from.state.step());
  if (entered == nullptr)
    return;
  auto& r = *entered;
  r.root = &r;
  move_contents(from, r);
  SUPERSTEP_ASSERT(is_at_boundary(r));
  transition(r, run_phase::running);
  guard(r, what, [&] {
    host_.acquire(r, r.table());
    if (r.due != time_point::max())
      timers_.set(r.deadline_timer, r.due);
    if (r.extras().step_due != time_point::max())
      timers_.set(r.own_extras->step_timer, r.own_extras->step_due);
    queue(r);
  });
}

} // namespace superstep

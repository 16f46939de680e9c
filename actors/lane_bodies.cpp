// SPDX-License-Identifier: Apache-2.0
// How a lane runs bodies (lane.hpp defines the terms). guarded() runs a body so that the watcher
// can give the lane to another thread meanwhile. That thread continues in adopt_interrupted().
#include "call_setup.hpp"
#include "engine_core.hpp"
#include "lane.hpp"

#include <algorithm>
#include <chrono>

namespace superstep {

namespace {

/// The longest time for which a lane starts tasks of one run while others wait. The time is checked
/// after each `tasks_per_check` tasks.
constexpr auto turn_time = std::chrono::milliseconds{2};
constexpr auto tasks_per_check = std::uint32_t{16};

bool is_slow(const call& c) noexcept {
  return c.input.table->node(c.input.node).slowness.load(std::memory_order_relaxed) >=
         lane::slow_node;
}

/// Adjusts the estimate of how long the bodies of a node are.
void learn(const call& c, int change) noexcept {
  if (c.input.table == nullptr || c.input.node == detail::program::no_node)
    return;
  auto& slowness = c.input.table->node(c.input.node).slowness;
  // Several lanes adjust the estimate without synchronisation. An update may be lost, but the value
  // stays within its bounds; it affects only speed.
  const auto now = slowness.load(std::memory_order_relaxed);
  const auto next = std::min(std::max(now + change, 0), 2 * lane::slow_node);
  if (next != now)
    slowness.store(next, std::memory_order_relaxed);
}

/// Applies the watcher's hint that the bodies of a lane are long: raises the slowness of the node
/// of `c`, which ran last.
void learn_heavy(body_guard& guard, const call& c) noexcept {
  if (guard.take_hint())
    learn(c, lane::slow_node / 2);
}

/// Sets the actor of a call. Returns false if the task has failed because memory is short.
bool assign_actor(lane& on, lane_host& host, run& r, lane_call& c, std::uint32_t number) noexcept {
  try {
    host.assign(r, c, number);
    return true;
  } catch (...) {
    on.runs().tasks().start_failed(r, number);
    return false;
  }
}

/// Assigns a call to its actor, which the lane has acquired.
void assign_call(lane_call& c) noexcept {
  auto& assignment = pooled_actor_of(c.actor).assignment;
  assignment.call = &c;
  assignment.call_generation = c.generation;
}

/// Fills a call record for a task. Returns false if the task has failed, because copying values of
/// the user's types has thrown.
/// @param acquired whether the lane has acquired the task's actor
bool prepare_call(lane& on, lane_host& host, run& r, lane_call& c, std::uint32_t number,
                  bool acquired) noexcept {
  try {
    fill_call(r, c, number, host);
  } catch (...) {
    if (c.actor) {
      if (acquired)
        pooled_actor_of(c.actor).release();
      host.release(c);
    }
    c.drop_output();
    on.runs().tasks().start_failed(r, number);
    return false;
  }
  if (c.actor && acquired)
    assign_call(c);
  return true;
}

/// Starts a task whose actor handles a message.
/// @param from a record from which the actor is taken
[[gnu::cold, gnu::noinline]] void send_activation(lane& on, lane_host& host, run& r,
                                                  lane_call& from, std::uint32_t number) noexcept {
  auto& c = on_lane(on.runs().calls().take());
  c.actor = std::move(from.actor);
  if (prepare_call(on, host, r, c, number, false))
    on.runs().tasks().start_by_message(r, c);
  else
    on.runs().calls().put_back(c);
}

/// Acquires the actor of a detached call, if the call has one. Returns false if the actor has died,
/// or handles a message. In the latter case, sends it the activation, which continues the call
/// later.
bool acquire_actor(lane& on, lane_call& c, ready_kind later) noexcept {
  SUPERSTEP_ASSERT(c.owner != nullptr && !c.is_acquired);
  if (c.phase == call_phase::activated) {
    c.is_acquired = c.take_activation();
    SUPERSTEP_ASSERT(c.is_acquired && c.actor);
    assign_call(c);
    return true;
  }
  auto* const s = c.current_actor();
  if (s == nullptr)
    return true;
  if (s->try_acquire()) {
    c.is_acquired = true;
    return true;
  }
  c.turn.set_kind(later);
  if (!s->is_dead()) // otherwise the notice in the inbox fails the call
    on.runs().tasks().continue_by_message(c);
  return false;
}

} // namespace

void call::arrive(lane& l) {
  if (progress == body_progress::ended_quickly && owner != nullptr)
    learn(*this, -1);
  if (phase == call_phase::mailed)
    l.runs().tasks().activation_answered(*this);
  else
    l.runs().tasks().call_returned(*this);
}

/// Drives a run until it waits or ends, or has used its turn (engine_options::steps_per_turn).
lane::kept lane::drive(run& r) {
  SUPERSTEP_ASSERT(r.is_live() && !r.turn.is_listed());
  if (r.request.below)
    note_activity(r);
  auto steps = std::uint32_t{0};
  auto tasks = std::uint32_t{0};
  auto checked = time_point{};
  const auto is_long = [&] { // the first check starts the measurement: most turns are shorter
    if (++tasks == options_.steps_per_turn)
      return true;
    if (tasks % tasks_per_check != 0)
      return false;
    const auto time = now();
    if (checked == time_point{})
      checked = time;
    return time - checked >= turn_time;
  };
  for (;;) {
    // the notice of the death is in the inbox and ends the run
    if (r.is_live() && on_lane(r).has_exited())
      return kept::yes;
    const auto next = runs_.next(r);
    if (next.what == next_action::kind::wait)
      return kept::yes;
    if (next.what == next_action::kind::new_step) {
      if (++steps < sharing_.turn_steps())
        continue;
      if (!sharing_.give(r))
        runs_.queue(r);
      return kept::yes;
    }
    const auto* const used = in_place_;
    if (start_task(r, next.task) == kept::no)
      return kept::no;
    // A nested graph that was just started runs first. A step with many tasks gives way to other
    // runs.
    const auto has_nested =
        used != in_place_ && used->has_requested_nest.load(std::memory_order_relaxed);
    // The body may have called run_handle::drain(), which takes effect before the next super-step.
    const auto has_asked = inbox_.has_messages() && r.is_step_over();
    if (has_nested || has_asked || is_long()) {
      runs_.queue(r);
      return kept::yes;
    }
  }
}

lane::kept lane::start_task(run& r, std::uint32_t number) {
  const auto node = r.step.tasks[number].node;
  auto& c = on_lane(*in_place_);
  if (node != detail::program::no_node) {
    learn_heavy(guard_, c); // the watcher's hint concerns the body that the lane ran before
    if (!assign_actor(*this, host_, r, c, number))
      return kept::yes;
    auto& s = pooled_actor_of(c.actor);
    if (!s.try_acquire()) {
      if (s.is_dead()) { // it was idle; the notice in the inbox will find that the run has ended
        c.actor.reset();
        runs_.node_exited(r, node);
      } else {
        send_activation(*this, host_, r, c, number);
      }
      return kept::yes;
    }
    if (r.table().node(node).slowness.load(std::memory_order_relaxed) >= slow_node) {
      start_job(r, number);
      return kept::yes;
    }
  }
  return prepare_call(*this, host_, r, c, number, true) ? run_in_place(r, c) : kept::yes;
}

lane::kept lane::run_in_place(run& r, lane_call& c) {
  SUPERSTEP_ASSERT(&c == in_place_ && c.owner == &r);
  transition(c, call_phase::in_place);
  auto* const s = c.actor ? &pooled_actor_of(c.actor) : nullptr;
  c.is_acquired = s != nullptr;
  if (guarded(c, {}) == kept::no)
    return kept::no;
  c.release_acquired();
  if (!c.has_ended()) {
    // if an exit message has killed the actor meanwhile, the notice in the inbox fails the call
    runs_.tasks().in_place_suspended(r, c);
    in_place_ = &runs_.calls().take();
    return kept::yes;
  }
  const auto has_exited = s != nullptr && s->is_dead();
  if (s != nullptr)
    host_.release(c);
  if (!has_exited && !c.failed &&
      r.table().node(c.input.node).slowness.load(std::memory_order_relaxed) > 0)
    learn(c, -1);
  runs_.tasks().in_place_ended(r, c, has_exited);
  return kept::yes;
}

/// Queues the body of a slow node as a job. @pre the actor in the in-place record is acquired
void lane::start_job(run& r, std::uint32_t number) noexcept {
  auto& c = on_lane(runs_.calls().take());
  c.actor = std::move(on_lane(*in_place_).actor);
  if (!prepare_call(*this, host_, r, c, number, true)) {
    runs_.calls().put_back(c);
    return;
  }
  pooled_actor_of(c.actor).release(); // if the actor is dead now, its notice fails the call
  runs_.tasks().start_as_job(r, c);
}

/// Starts a call that waits for its start: one that a body has forked, one that no job thread has
/// taken, or one whose actor was busy.
lane::kept lane::start(call& c) {
  SUPERSTEP_ASSERT(c.phase == call_phase::waiting || c.phase == call_phase::activated);
  learn_heavy(guard_, c);
  c.turn.set_kind(ready_kind::resume);
  if (c.phase == call_phase::waiting && is_slow(c)) {
    runs_.calls().move(c, call_phase::job);
    if (core_.add_job(c))
      return kept::yes;
    runs_.calls().move(c, call_phase::waiting);
  }
  if (!acquire_actor(*this, on_lane(c), ready_kind::start_call))
    return kept::yes;
  runs_.calls().move(c, call_phase::resuming);
  if (guarded(c, {}) == kept::no)
    return kept::no;
  return after_body(c, -1);
}

lane::kept lane::resume(call& c) {
  SUPERSTEP_ASSERT(c.phase == call_phase::suspended || c.phase == call_phase::activated);
  if (!acquire_actor(*this, on_lane(c), ready_kind::resume))
    return kept::yes;
  auto frame = std::coroutine_handle<>{};
  if (const auto ended = c.waits.take())
    frame = ended->frame();
  runs_.calls().move(c, call_phase::resuming);
  if (!frame) // the body was resumed for another wait and has destroyed this one
    return after_body(c, 0);
  ++c.owner->activity;
  note_activity(*c.owner);
  if (guarded(c, frame) == kept::no)
    return kept::no;
  return after_body(c, 0);
}

/// Completes the start or the resumption of a detached call.
lane::kept lane::after_body(call& c, int change) {
  SUPERSTEP_ASSERT(c.phase == call_phase::resuming && c.owner != nullptr);
  on_lane(c).release_acquired();
  const auto* const s = on_lane(c).current_actor();
  // if an exit message has killed the actor, the notice in the inbox fails the call
  if (c.has_ended() && (s == nullptr || !s->is_dead())) {
    if (change != 0)
      learn(c, change);
    runs_.tasks().call_ended(c);
  } else {
    runs_.calls().move(c, call_phase::suspended);
  }
  return kept::yes;
}

/// Starts or resumes a body inside the guard. If the watcher takes the lane meanwhile, the function
/// returns kept::no, and the caller must return without touching the lane.
lane::kept lane::guarded(call& c, std::coroutine_handle<> frame) noexcept {
  running_ = &c;
  const auto ticket = guard_.enter();
  current = nullptr; // the body may start runs, and must not choose a lane that may be taken over
  c.advance(frame);
  if (guard_.leave(ticket)) {
    current = this;
    return kept::yes;
  }
  c.return_to_lane(); // another thread serves the lane now, so this one only posts the call to it
  return kept::no;
}

/// Called first by a thread that has taken over the lane: detaches the call whose body the old
/// thread is still running, so that the run can continue with its next task.
void lane::adopt_interrupted() {
  SUPERSTEP_ASSERT(running_ != nullptr && running_->owner != nullptr);
  auto& c = *running_;
  learn(c, slow_node / 2);
  const auto was_in_place = &c == in_place_;
  runs_.tasks().was_taken(c);
  if (was_in_place)
    in_place_ = &runs_.calls().take();
  // The actor was acquired for the body. It is released although the body has not returned, so that
  // exits and messages reach it.
  on_lane(c).release_acquired();
}

} // namespace superstep

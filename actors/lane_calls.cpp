// SPDX-License-Identifier: Apache-2.0
// Calls and actors of a lane (lane.hpp defines the terms). lane_runs.cpp (start_task) runs a task's
// body in place, in the shared record in_place_. If the body suspends, is taken over or becomes a
// job, its call is detached. It then has its own record and is listed in run::open until the body
// ends, the call is abandoned, or its actor dies. Calls that a body forks (when_all) are always
// detached.
#include "engine_core.hpp"
#include "lane.hpp"

#include <algorithm>
#include <utility>

namespace superstep {

call& lane::take_call() {
  if (free_calls_.empty()) {
    calls_.push_back(std::make_unique<call>(*this));
    calls_.back()->at.where = this;
    return *calls_.back();
  }
  auto& c = *free_calls_.back();
  free_calls_.pop_back();
  return c;
}

/// Makes a call record available again and destroys what its body has left.
/// @pre no thread uses the record any more
void lane::free_call(call& c) {
  SUPERSTEP_ASSERT(!c.is_detached);
  ++c.generation; // shows forked calls that their parent's call has ended
  c.first_fork = nullptr;
  c.drop_body();
  c.ended = false;
  c.was_short = false;
  c.gave_up = false;
  c.nested = 0;
  c.is_timed = false;
  c.has_deadline = false;
  c.detach_observers();
  c.owner = nullptr;
  c.parent = nullptr;
  c.actor.reset();
  c.input.table = nullptr;
  c.config.reset();
  c.table.reset();
  c.state_hold.reset();
  c.inputs_hold.reset();
  c.sink.reset();
  c.forget_stop();
  c.state = call_state::idle;
  c.claimed.store(false, std::memory_order_relaxed);
  free_calls_.push_back(&c);
}

pooled_actor_ptr lane::take_actor(actor_kind kind, run& r) {
  auto s = pooled_actor_ptr{};
  if (free_actors_.empty()) {
    s = make_pooled_actor(core_.system());
  } else {
    s = std::move(free_actors_.back());
    free_actors_.pop_back();
  }
  pooled_actor_of(s).assignment = {
      kind, this, &r, nullptr, r.generation, 0, detail::program::no_node};
  return s;
}

void lane::give_back(pooled_actor_ptr&& s) noexcept {
  auto& actor = pooled_actor_of(s);
  // The actor is reused only if no other thread can reach it. While it is acquired, no other thread
  // runs it; without other handles it receives no messages. Otherwise a late exit message could
  // kill it during its next assignment. An actor that is not reused ends now, which notifies its
  // monitors and links; so nothing that was attached to it belongs to a later assignment.
  if (options_.pool_actors && free_actors_.size() < options_.pooled_actors_max &&
      actor.try_acquire()) {
    const auto alone = actor.is_ours_alone();
    actor.assignment = {};
    actor.release();
    if (alone && !actor.is_dead()) {
      free_actors_.push_back(std::move(s));
      return;
    }
  }
  actor.retire();
  s.reset();
}

pooled_actor_ptr& lane::node_actor(run& r, std::uint32_t node) {
  auto& s = r.node_actors[node];
  if (!s) {
    s = take_actor(actor_kind::node, r);
    pooled_actor_of(s).assignment.node = node;
  }
  return s;
}

void lane::learn(const call& c, int change) noexcept {
  if (c.input.table == nullptr || c.input.node == detail::program::no_node)
    return;
  auto& slowness = c.input.table->node(c.input.node).slowness;
  // Several lanes adjust the estimate without synchronisation. An update may be lost, but the value
  // stays within its bounds; it affects only speed.
  const auto now = slowness.load(std::memory_order_relaxed);
  const auto next = std::min(std::max(now + change, 0), 2 * slow_node);
  if (next != now)
    slowness.store(next, std::memory_order_relaxed);
}

/// Applies the watcher's hint that this lane's bodies are long: raises the slowness of the node
/// that ran last.
void lane::learn_heavy(const call& c) noexcept {
  if (heavy_.load(std::memory_order_relaxed) && heavy_.exchange(false, std::memory_order_relaxed))
    learn(c, slow_node / 2);
}

/// Fills a call record for a task of a run.
/// @pre the task's actor is acquired
void lane::prepare_call(run& r, call& c, std::uint32_t number) {
  SUPERSTEP_ASSERT(c.out.output.is_empty() && !c.out.rest && !c.failed);
  const auto& t = r.step.tasks[number];
  c.owner = &r;
  c.task_number = number;
  if (c.config != r.request.config)
    c.config = r.request.config;
  c.ended = false;
  c.gave_up = false;
  c.nested = 0;
  c.has_nested = false;
  if (c.has_observers)
    c.detach_observers(); // the record may still have the sink and the conversation of another run
  c.is_timed = false;
  c.has_deadline = false;
  const auto* const sent = t.is_push() ? &(*r.step.inputs)[t.push_index] : nullptr;
  auto& in = c.input;
  in.table = &r.table();
  in.state = r.state.state().get();
  in.payload = sent != nullptr ? &sent->input : nullptr;
  in.config = &c.config;
  in.services = &c;
  in.node = t.node;
  in.task_index = sent != nullptr ? t.push_index : 0;
  in.step = r.state.step();
  in.attempt = t.attempt;
  in.sole_task = r.step.tasks.size() == 1;
  in.keep_writes = r.keeps_writes;
  in.is_applied = t.node == detail::program::no_node && !r.step.input;
  in.store = r.memory;
  in.steps_left = r.state.steps_left();
  in.failure = nullptr;
  in.ns = nullptr;
  if (r.has_limits || (sent != nullptr && sent->timeout.count() > 0))
    set_limits(r, c);
  if (!r.is_fast_path)
    attach_observers(r, c, number);
  if (c.actor) {
    auto& assignment = pooled_actor_of(c.actor).assignment;
    assignment.call = &c;
    assignment.call_generation = c.generation;
  }
}

namespace {

/// Whether the node has the tag `nostream`: its messages are not streamed.
bool has_tag(const detail::node_entry& node) {
  return std::ranges::find(node.options.tags, "nostream") != node.options.tags.end();
}

} // namespace

/// Sets up what a call needs if its run is not on the fast path: sink, conversation, link to the
/// parent run, and the error that an error handler handles.
void lane::attach_observers(run& r, call& c, std::uint32_t number) {
  if (r.step.tasks[number].failed_node != step_task::pull)
    give_failure(r, c, number);
  c.has_observers = true;
  c.below = r.request.below;
  c.input.ns = c.below ? &c.below->ns : nullptr;
  c.streams_custom = r.streams(stream_mode::custom);
  c.streams_messages =
      r.streams(stream_mode::messages) && !has_tag(r.table().node(r.step.tasks[number].node));
  if (c.streams_custom || c.streams_messages)
    c.sink = r.request.sink;
  if (r.thread || (r.request.below && (r.request.below->answers || r.request.below->journal)))
    c.talk = r.conversation_of(number);
  if (r.step.tasks[number].node == detail::program::no_node && r.step.input) {
    c.out.output.writes.assign(r.step.input->begin(), r.step.input->end());
    c.out.output.targets.assign(r.step.input_targets.begin(), r.step.input_targets.end());
  }
}

/// Completes a call whose body ran in place and returned before the watcher took the lane. Either
/// the body has ended, or it is suspended and its call is detached.
void lane::after_in_place(run& r, call& c) {
  auto* const s = c.actor ? &pooled_actor_of(c.actor) : nullptr;
  if (s != nullptr)
    s->release();
  if (!c.ended) {
    c.state = call_state::suspended;
    r.has_nested = c.has_nested;
    detach(r, c);
    in_place_ = &take_call();
    // if an exit message has killed the actor meanwhile, the notice in the inbox fails the call
    return;
  }
  const auto died = s != nullptr && s->is_dead();
  auto talk = std::shared_ptr<conversation>{};
  if (c.talk)
    talk = std::move(c.talk);
  const auto number = c.task_number;
  const auto is_push = r.step.tasks[number].is_push();
  ++c.generation; // a notice about this call that arrives later is ignored
  c.forget_stop();
  if (c.actor) {
    if (died && !is_push)
      r.node_actors[c.input.node].reset();
    if (is_push && !died)
      give_back(std::move(c.actor));
    c.actor.reset();
  }
  if (talk)
    r.keep_talk(number, talk);
  if (died || c.failed) {
    auto failed = std::exchange(c.failed, nullptr);
    auto written = std::exchange(c.out.output, {});
    task_failed(r, number, c.input, std::move(written),
                error_of(r, number, died ? graph_errc::actor_exited : graph_errc::node_failed,
                         died ? nullptr : std::move(failed)));
    return;
  }
  if (const auto& node = r.table().node(c.input.node);
      node.slowness.load(std::memory_order_relaxed) > 0)
    learn(c, -1);
  if (talk && talk->stopped) {
    c.out.output = {};
    on_task_interrupted(r, number, *talk);
  } else if (r.is_fast_path && !c.out.output.to_parent) {
    r.step.record(number, std::move(c.out.output));
  } else {
    task_ended(r, number, std::move(c.out.output));
  }
}

/// Queues the body of a slow node as a job.
/// @pre the actor is acquired
void lane::send_to_jobs(run& r, pooled_actor_ptr&& actor, std::uint32_t number) {
  auto& c = take_call();
  c.actor = std::move(actor);
  prepare_call(r, c, number);
  c.state = call_state::queued;
  detach(r, c);
  on_offloaded(c);
  pooled_actor_of(c.actor).release(); // if the actor is dead now, its notice fails the call
  // no thread is available: the lane runs the body itself, after the other ready entries
  if (!core_.add_job(c)) {
    on_returned(c);
    ready_.push_back({nullptr, &c, nullptr, 0});
  }
}

void lane::detach(run& r, call& c) {
  SUPERSTEP_ASSERT(!c.is_detached);
  c.is_detached = true;
  c.open_index = static_cast<std::uint32_t>(r.open.size());
  r.open.push_back(&c);
  ++r.detached_calls;
  if (c.parent == nullptr)
    ++r.detached_tasks;
  // The record now owns what the body may still use if the run continues without it.
  c.table = r.state.table_ptr();
  c.state_hold = r.state.state();
  c.inputs_hold = r.step.inputs;
  if (!c.join)
    watch_time(r, c);
}

namespace {

void link_fork(call& parent, call& c) noexcept {
  c.prev_fork = nullptr;
  c.next_fork = parent.first_fork;
  if (c.next_fork != nullptr)
    c.next_fork->prev_fork = &c;
  parent.first_fork = &c;
}

/// Removes a call from its parent's list of forked calls.
/// @pre the parent's call has not ended
void unlink_fork(call& c) noexcept {
  if (c.next_fork != nullptr)
    c.next_fork->prev_fork = c.prev_fork;
  (c.prev_fork != nullptr ? c.prev_fork->next_fork : c.parent->first_fork) = c.next_fork;
}

} // namespace

void lane::drop_detached(call& c) {
  SUPERSTEP_ASSERT(c.is_detached && c.owner != nullptr);
  auto& open = c.owner->open;
  open[c.open_index] = open.back();
  open[c.open_index]->open_index = c.open_index;
  open.pop_back();
  --c.owner->detached_calls;
  if (c.parent == nullptr)
    --c.owner->detached_tasks;
  else if (c.parent->generation == c.parent_generation)
    unlink_fork(c);
  c.is_detached = false;
}

/// Completes a detached call whose body has ended: reports the result to the run and recycles the
/// record.
void lane::finish_detached(call& c) {
  if (c.barrier) {
    barrier_ended(c);
    return;
  }
  auto& r = *c.owner;
  const auto number = c.task_number;
  const auto join = std::move(c.join);
  const auto talk = std::move(c.talk);
  if (std::exchange(c.was_short, false))
    learn(c, -1);
  drop_detached(c);
  if (c.actor) {
    if (join || r.step.tasks[number].is_push())
      give_back(std::move(c.actor));
    else if (pooled_actor_of(c.actor).is_dead())
      r.node_actors[c.input.node].reset();
  }
  if (join) {
    free_call(c);
    join->one_done();
    return;
  }
  if (r.first_end_ns == 0 && r.detached_calls > 0)
    r.first_end_ns = static_cast<std::uint64_t>(now().time_since_epoch().count());
  if (talk)
    r.keep_talk(number, talk);
  if (!c.failed && talk && talk->stopped) {
    on_task_interrupted(r, number, *talk);
  } else if (c.failed) {
    task_failed(r, number, c.input, std::move(c.out.output),
                error_of(r, number, graph_errc::node_failed, std::exchange(c.failed, nullptr)));
  } else {
    // with no other reader, the barrier can change the state without copying it
    c.state_hold.reset();
    c.inputs_hold.reset();
    task_ended(r, number, std::move(c.out.output));
  }
  free_call(c);
  reschedule_if_ready(r);
}

/// Ends a call whose body has not ended, because of an exit message, a cancellation, a timeout or
/// the failure of a sibling. A suspended body is destroyed. A running body runs to completion and
/// its result is discarded. A queued body is never started, because the job thread finds it
/// claimed.
void lane::abandon(call& c) {
  auto& r = *c.owner;
  while (c.first_fork != nullptr) // the calls that it has forked are abandoned first
    abandon(*c.first_fork);
  const auto join = std::move(c.join);
  on_returned(c);
  drop_detached(c);
  if (auto actor = c.leave_run(); actor && (join || r.step.tasks[c.task_number].is_push()))
    give_back(std::move(actor));
  switch (c.state) {
  case call_state::suspended:
    free_call(c);
    break;
  case call_state::queued:
    c.claimed.store(true, std::memory_order_release);
    [[fallthrough]];
  case call_state::running:
  case call_state::idle:
    c.stashed.reset();
    c.request_stop();
    break;
  }
  if (join)
    join->one_done();
}

void lane::on_call_returned(call& c) {
  if (c.owner == nullptr) { // the call was abandoned meanwhile
    free_call(c);
    return;
  }
  on_returned(c);
  if (c.ended) {
    finish_detached(c);
    return;
  }
  c.state = call_state::suspended;
  if (c.stashed)
    ready_.push_back({nullptr, nullptr, std::move(c.stashed), 0});
}

lane::kept lane::resume(wait_ptr&& w) {
  if (!w->resumable()) {
    w.reset();
    return kept::yes;
  }
  auto& c = *static_cast<call*>(w->owner());
  // the body has not finished suspending on its other thread; on_call_returned() resumes it
  if (c.state != call_state::suspended) {
    c.stashed = std::move(w);
    return kept::yes;
  }
  auto& s = pooled_actor_of(c.actor);
  if (!s.try_acquire()) {
    if (!s.is_dead()) // the actor is handling a message: try again later
      ready_.push_back({nullptr, nullptr, std::move(w), 0});
    else
      w.reset();
    return kept::yes;
  }
  const auto frame = w->frame();
  w.reset();
  c.state = call_state::running;
  if (c.owner != nullptr) {
    ++c.owner->activity;
    note_activity(*c.owner);
  }
  if (guarded(c, frame) == kept::no)
    return kept::no;
  c.state = call_state::suspended;
  s.release();
  // if an exit message has killed the actor, the notice in the inbox fails the call
  if (c.ended && !s.is_dead())
    finish_detached(c);
  return kept::yes;
}

void lane::begin_fork(call& parent, std::uint32_t generation, task<void> body,
                      boost::intrusive_ptr<fork_join> join) {
  // the parent's body has ended or was abandoned
  if (parent.generation != generation || parent.owner == nullptr) {
    body = {};
    join->one_done();
    return;
  }
  SUPERSTEP_ASSERT(parent.is_detached);
  auto& r = *parent.owner;
  auto& c = take_call();
  c.owner = &r;
  c.task_number = parent.task_number;
  c.parent = &parent;
  c.parent_generation = generation;
  link_fork(parent, c);
  c.join = std::move(join);
  c.config = r.request.config;
  c.has_observers = true;
  c.sink = parent.sink;
  c.streams_custom = parent.streams_custom;
  c.streams_messages = parent.streams_messages;
  c.failure = parent.failure;
  c.below = parent.below;
  c.input = parent.input;
  c.input.config = &c.config;
  c.input.services = &c;
  c.forked = std::move(body);
  c.forked.start_in(c.at);
  c.actor = take_actor(actor_kind::tool, r);
  pooled_actor_of(c.actor).assignment.call = &c;
  pooled_actor_of(c.actor).assignment.call_generation = c.generation;
  pooled_actor_of(c.actor).assignment.node = parent.input.node;
  c.state = call_state::queued;
  detach(r, c);
  queue_start(r, c);
}

/// Adds a forked call to those that wait for their start. Their run has one entry in the ready
/// queue for all of them, so that a run with many forks does not delay other runs.
void lane::queue_start(run& r, call& c) {
  c.next_start = nullptr;
  if (r.first_start != nullptr) {
    r.last_start->next_start = &c;
  } else {
    r.first_start = &c;
    ready_.push_back({&r, nullptr, nullptr, r.generation, true});
  }
  r.last_start = &c;
}

/// Queues each forked call that has not started when its run ends. start_fork() recycles the
/// records of these calls.
void lane::drop_starts(run& r) {
  for (auto* c = std::exchange(r.first_start, nullptr); c != nullptr; c = c->next_start)
    ready_.push_back({nullptr, c, nullptr, 0});
}

/// Starts the first forked call that waits for it. The run's entry returns to the end of the ready
/// queue, so that the runs of a lane take turns.
lane::kept lane::start_next_fork(run& r) {
  auto& c = *r.first_start;
  r.first_start = c.next_start;
  if (r.first_start != nullptr)
    ready_.push_back({&r, nullptr, nullptr, r.generation, true});
  return start_fork(c);
}

lane::kept lane::start_fork(call& c) {
  if (c.owner == nullptr) { // the call was abandoned before it started
    free_call(c);
    return kept::yes;
  }
  learn_heavy(c);
  if (c.input.table->node(c.input.node).slowness.load(std::memory_order_relaxed) >= slow_node) {
    on_offloaded(c);
    if (core_.add_job(c))
      return kept::yes;
    on_returned(c);
  }
  auto& s = pooled_actor_of(c.actor);
  if (!s.try_acquire()) {
    if (!s.is_dead())
      ready_.push_back({nullptr, &c, nullptr, 0});
    return kept::yes;
  }
  c.state = call_state::running;
  if (guarded(c, {}) == kept::no)
    return kept::no;
  c.state = call_state::suspended;
  s.release();
  if (c.ended && !s.is_dead()) {
    learn(c, -1);
    finish_detached(c);
  }
  return kept::yes;
}

void lane::actor_died(const actor_assignment& t) {
  auto& r = *t.run;
  if (!r.live || r.generation != t.run_generation)
    return;
  if (t.call != nullptr && t.call->generation == t.call_generation && t.call->owner == &r) {
    actor_of_call_died(r, *t.call);
    return;
  }
  auto error = make_run_error(graph_errc::actor_exited, {}, r.state.step());
  if (t.kind == actor_kind::coordinator) {
    error.text =
        "the coordinator actor of " + run_in_text(*r.request.config) + " received an exit message";
    end_run(r, std::move(error));
    return;
  }
  // No call was using the actor. Only the death of a node's idle actor ends the run. The actor of a
  // tool has no later call, so its death has no effect. If the actor of a node died during a call,
  // that call has failed already and has cleared the slot in node_actors.
  if (t.kind != actor_kind::node || !r.node_actors[t.node] ||
      !pooled_actor_of(r.node_actors[t.node]).is_dead())
    return;
  error.node = error.task = r.table().node(t.node).name;
  error.text = "the actor of node '" + error.node +
               "' received an exit message while it was idle (step " + std::to_string(error.step) +
               ")";
  end_run(r, std::move(error));
}

void lane::actor_of_call_died(run& r, call& c) {
  const auto was_fork = static_cast<bool>(c.join);
  const auto number = c.task_number;
  const auto config = c.config; // the failure handler needs it after the record is recycled
  auto input = c.input;
  input.config = &config;
  input.services = nullptr;
  if (!was_fork && !r.step.tasks[number].is_push())
    r.node_actors[input.node].reset();
  if (c.talk && !was_fork)
    r.keep_abandoned_talk(number, *c.talk);
  abandon(c);
  if (!was_fork)
    task_failed(r, number, input, {}, error_of(r, number, graph_errc::actor_exited, nullptr));
  reschedule_if_ready(r);
}

/// Releases the objects of an ended run that the in-place record still holds. The record normally
/// keeps them, because the next task of the same run needs them again.
void lane::forget_run(const run& r) noexcept {
  if (in_place_->config == r.request.config) {
    in_place_->input.table = nullptr;
    in_place_->detach_observers();
    in_place_->config.reset();
    in_place_->sink.reset();
  }
}

} // namespace superstep

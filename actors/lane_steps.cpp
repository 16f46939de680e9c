// SPDX-License-Identifier: Apache-2.0
// Takes a run of a lane from one super-step to the next: the barrier, the checkpoint, breakpoints
// and interrupts, and the preparation of the next step. lane_runs.cpp calls barrier() and
// advance_step() when all tasks of a step have ended. The rules are in runtime/step.cpp.
#include "engine_core.hpp"
#include "lane.hpp"

#include <algorithm>
#include <utility>

namespace superstep {

namespace {

/// The number of writes and Sends of a step that the lane applies itself. More of them are applied
/// by a job thread if the lane has other runs.
constexpr auto writes_in_place_max = std::size_t{2'048};

/// Whether a job thread is applying the run's step.
bool is_applying(const run& r) noexcept {
  return r.open.size() == 1 && r.open.front()->barrier;
}

} // namespace

/// Applies the outputs of the step's tasks to the state. Called when all tasks have ended. Returns
/// false if the run has ended, or waits until a job thread has applied them.
bool lane::barrier(run& r) {
  if (r.first_end_ns != 0) {
    r.stats.barrier_wait_ns.push_back(now_ns() - std::exchange(r.first_end_ns, 0));
  }
  if (pooled_actor_of(r.coordinator).is_dead())
    return false; // the notice of its death is in the inbox and ends the run
  if (!r.is_fast_path && r.streams(stream_mode::debug))
    tell_barrier(r);
  if (r.interrupts) {
    stop_with_questions(r);
    return false;
  }
  if (!r.is_fast_path && ends_broken(r))
    return false;
  if (r.step.writes.size() + r.step.sends.size() > writes_in_place_max && load() > 1) {
    offload_barrier(r);
    return false;
  }
  return is_applied(r, apply(r.state, r.step));
}

/// Completes a barrier: fails the run if its step could not be applied. Returns false if the run
/// has ended.
bool lane::is_applied(run& r, const result<void>& how) {
  if (!how) {
    fail_step(r, how.error());
    return false;
  }
  if (!mail_.is_empty())
    mail_.apply(r);
  return r.is_fast_path || finish_step(r);
}

/// Lets a job thread apply the step. barrier_ended() continues the run.
void lane::offload_barrier(run& r) {
  auto work = std::make_unique<large_barrier>();
  work->state = r.state.stand_in();
  std::swap(work->state, r.state);
  std::swap(work->step, r.step);
  auto& c = take_call();
  c.owner = &r;
  c.config = r.request.config;
  c.barrier = std::move(work);
  c.state = call_state::queued;
  detach(r, c);
  on_offloaded(c);
  if (core_.add_job(c))
    return;
  on_returned(c);
  c.advance({});
  barrier_ended(c);
}

/// Continues a run whose step a job thread has applied.
void lane::barrier_ended(call& c) {
  auto& r = *c.owner;
  const auto done = std::move(c.barrier);
  drop_detached(c);
  free_call(c);
  r.state = std::move(done->state);
  r.step = std::move(done->step);
  if (std::exchange(r.is_cancelled, false)) {
    cancel_run(r.number);
    return;
  }
  try { // as in drive(): copies and moves of values are user code
    if (done->thrown)
      std::rethrow_exception(done->thrown);
    if (is_applied(r, done->applied) && advance_step(r))
      queue(r);
  } catch (...) {
    end_thrown(r);
  }
}

/// Sends the events of the step that was just applied, and saves its checkpoint. Returns false if
/// the run has ended.
bool lane::finish_step(run& r) {
  r.has_moved = true;
  for (auto& event : r.held)
    r.request.sink->push(std::move(event));
  r.held.clear();
  emit_values(r);
  // if the lane has no other run, it may wait for the disk itself, without delaying another run
  if (r.thread)
    call_user(r, "saving the checkpoint of the step",
              [&] { r.thread->save(r.state, checkpoint_source::loop, load() == 1); });
  if (fails_to_save(r) || ends_broken(r))
    return false;
  r.forget_step();
  r.stops_after = stops_at(r, run::stop_after);
  if (r.request.sink && r.request.sink->is_full())
    r.paused = true;
  return true;
}

/// Ends the run if its checkpointer has failed; returns whether it did.
bool lane::fails_to_save(run& r) {
  if (!r.thread || !r.thread->failure())
    return false;
  fail_step(r, *r.thread->failure());
  return true;
}

/// Whether the run must wait until its checkpoint is durable (sync durability). Meanwhile its lane
/// continues with other runs.
bool lane::waits_for_checkpointer(run& r) {
  if (!r.thread || !r.thread->checkpointer() || r.thread->when() != durability::sync)
    return false;
  call_user(r, "the checkpointer", [&] {
    r.is_saving = r.thread->checkpointer()->when_saved(
        r.thread->key(), [core = core_.weak_from_this(), number = r.number, lane = index_] {
          if (const auto alive = core.lock())
            alive->saved({number, lane});
        });
  });
  return r.is_saving;
}

void lane::fail_step(run& r, const error& refused) {
  end_run(r, make_run_error(refused.code,
                            "step " + std::to_string(r.state.step()) + ": " + refused.text,
                            r.state.step()));
}

bool lane::stops_at(const run& r, std::uint8_t when) noexcept {
  return !r.stops.empty() && r.has_moved &&
         std::ranges::any_of(r.step.tasks, [&](const step_task& t) {
           return t.node != detail::program::no_node && (r.stops[t.node] & when) != 0;
         });
}

/// Ends the run at an interrupt or a breakpoint. If the run has a checkpointer, it can be resumed.
void lane::stop_run(run& r, std::vector<interrupt> interrupts) {
  // a breakpoint: only the outermost run sends the event
  if (interrupts.empty() && !r.request.below)
    report_interrupts(r, no_task, interrupts);
  r.interrupts = std::move(interrupts);
  end_run(r, std::nullopt);
}

/// Stops the run at the barrier because tasks were interrupted. The outputs of the other tasks are
/// not saved as a step: the thread stores them as records until the step is resumed. For the
/// outermost graph they are applied here, only so that the result shows them.
void lane::stop_with_questions(run& r) {
  auto interrupts = std::move(*r.interrupts);
  r.interrupts.reset();
  if (!r.step.finished.empty() && !r.request.below) {
    const auto wrote = std::ranges::any_of(
        r.step.tasks, [](const step_task& t) { return t.writes.count + t.targets.count > 0; });
    if (auto applied = apply_step(r); !applied) {
      fail_step(r, applied.error());
      return;
    }
    if (wrote)
      emit_values(r);
  }
  stop_run(r, std::move(interrupts));
}

/// Applies the last step of a cancelled run, if the on_failure handlers return an output for every
/// unfinished task. Each tool call in the message history then has an answer. Returns false if the
/// run has ended, or will end when a job thread has applied its step.
bool lane::apply_cancelled(run& r, const run_error& why) {
  if (is_applying(r)) {
    r.is_cancelled = true;
    return false;
  }
  if (r.interrupts || r.failure || r.to_parent || r.step.tasks.empty())
    return true;
  auto given = std::vector<std::pair<std::uint32_t, node_output>>{};
  auto has_ended = std::vector<bool>(r.step.tasks.size());
  for (const auto number : r.step.finished)
    has_ended[number] = true;
  for (auto number = std::uint32_t{0}; number < r.step.tasks.size(); ++number) {
    if (has_ended[number])
      continue;
    const auto& node = r.table().node(r.step.tasks[number].node);
    if (!node.options.on_failure)
      return true;
    auto error = why;
    error.node = node.name;
    error.task = r.task_path(r.step.tasks[number]);
    // a model may read the text, and the name of the run means nothing to it
    error.text = "the run was cancelled";
    try {
      auto output = node.options.on_failure(reading(r, number), error);
      if (!output)
        return true;
      given.emplace_back(number, std::move(*output));
      // the handler is user code; a cancelled run reports the cancellation, not the handler's
      // exception
    } catch (...) {
      return true;
    }
  }
  if (given.empty()) // all tasks have ended: the step is applied already, or will be
    return true;
  while (!r.open.empty())
    abandon(*r.open.back());
  for (auto& [number, output] : given)
    task_ended(r, number, std::move(output));
  return !apply_step(r) || r.is_fast_path || finish_step(r);
}

/// Calls apply_cancelled() for the nested runs of a run, because their results are outputs of its
/// tasks, and then for the run itself. Returns false if the run has ended, or will end when a job
/// thread has applied its step.
bool lane::apply_cancelled_below(run& r, const run_error& why) {
  for (auto* each = r.first_below; each != nullptr;) {
    auto* const following = each->next_below; // the call may end `each`
    static_cast<void>(apply_cancelled_below(*each, why));
    each = following;
  }
  return r.live && apply_cancelled(r, why);
}

/// Prepares the next super-step. Returns false if the run has ended or pauses.
bool lane::advance_step(run& r) {
  r.next_task = 0;
  r.idle_polls = 0;
  const auto next = prepare(r.state, r.step);
  if (!r.is_fast_path && !announce_step(r))
    return false;
  if (next != next_step::run) {
    if (next == next_step::done)
      end_run(r, std::nullopt);
    else
      end_out_of_steps(r);
    return false;
  }
  if (!r.is_fast_path && !r.drained_for.empty()) {
    end_run(r, make_run_error(graph_errc::drained, std::move(r.drained_for), r.state.step()));
    return false;
  }
  ++r.stats.steps;
  r.stats.tasks += r.step.tasks.size();
  return r.is_fast_path || begin_step(r);
}

/// Sends the events of a prepared step, before it is decided whether the step runs. Returns false
/// if the run has ended.
bool lane::announce_step(run& r) {
  r.handled.clear();
  if (r.streams(stream_mode::checkpoints) && r.thread && r.thread->checkpointer())
    emit_checkpoint(r);
  if (std::exchange(r.stops_after, false)) {
    stop_run(r, {});
    return false;
  }
  if (r.streams(stream_mode::debug))
    emit_step(r);
  return true;
}

/// Sets up a step before its tasks start: timeout, known outputs, breakpoints. Returns false if the
/// run has ended or pauses.
bool lane::begin_step(run& r) {
  if (r.table().options().step_timeout)
    watch_step(r);
  if (r.thread)
    take_known(r);
  if (stops_at(r, run::stop_before)) {
    stop_run(r, {});
    return false;
  }
  if (r.streams(stream_mode::tasks))
    for (auto i = std::uint32_t{0}; i < r.step.tasks.size(); ++i)
      tell_start(r, i);
  if (r.thread || r.cache != nullptr)
    begin_known(r);
  r.is_single_task = is_single_task(r);
  if (ends_broken(r))
    return false;
  const auto waits = waits_for_checkpointer(r);
  return !ends_broken(r) && !waits && !r.paused;
}

void lane::end_out_of_steps(run& r) {
  auto text = "Recursion limit of " + std::to_string(r.request.config->recursion_limit) +
              " reached without hitting a stop condition. Raise recursion_limit in run_config or "
              "in the agent file, or check whether the graph can end.";
  end_run(r, make_run_error(graph_errc::recursion_limit, std::move(text), r.state.step()));
}

bool lane::is_single_task(const run& r) noexcept {
  if (r.streams(stream_mode::custom) || r.streams(stream_mode::messages) ||
      r.streams(stream_mode::subgraphs))
    return false;
  return std::ranges::count(r.step.tasks, false, &step_task::is_known) == 1;
}

} // namespace superstep

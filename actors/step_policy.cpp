// SPDX-License-Identifier: Apache-2.0
// Takes a run from one super-step to the next: the barrier, the checkpoint, breakpoints and
// interrupts, and the preparation of the next step. The rules are in runtime/step.cpp.
#include "step_policy.hpp"

#include "base/deadline.hpp"
#include "coordinator.hpp"
#include "run_events.hpp"
#include "simulation.hpp"
#include "task_records.hpp"
#include "user_code.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

namespace superstep {

namespace {

/// The number of writes and Sends of a step that the lane applies itself. More of them are applied
/// by a job thread if the lane has other runs.
constexpr auto writes_in_place_max = std::size_t{2'048};

/// A barrier that takes this number of the watcher's ticks is slow, for example because of a
/// reducer.
constexpr auto slow_ticks = std::uint32_t{4};
/// The number of barriers of a graph that run as jobs after a slow one.
constexpr auto jobs_after_slow_barrier = 64;

/// The number of the next barriers of a run's graph that run as jobs. START has no body, so that
/// its estimate serves for the barriers. Results do not depend on it.
std::atomic<int>& slowness_of_barriers(const run& r) noexcept {
  return r.table().entry().slowness;
}

/// Adjusts the estimate after a barrier. Several lanes may adjust it at once, and one of the
/// adjustments may then be lost.
void learn_barrier(const run& r, std::uint32_t ticks) noexcept {
  auto& slowness = slowness_of_barriers(r);
  if (ticks >= slow_ticks) [[unlikely]]
    slowness.store(jobs_after_slow_barrier, std::memory_order_relaxed);
  else if (const auto now = slowness.load(std::memory_order_relaxed); now > 0)
    slowness.store(now - 1, std::memory_order_relaxed);
}

bool stops_at(const run& r, std::uint8_t when) noexcept {
  const auto& stops = r.extras().stops;
  return !stops.empty() && (r.active_stops & when) != 0 &&
         std::ranges::any_of(r.step.tasks, [&](const step_task& t) {
           return t.node != detail::program::no_node && (stops[t.node] & when) != 0;
         });
}

task_events events_of(const run& r) noexcept {
  if (r.streams(stream_mode::custom) || r.streams(stream_mode::messages) ||
      r.streams(stream_mode::subgraphs) || r.table().options().step_timeout)
    return task_events::at_once;
  return std::ranges::count(r.step.tasks, false, &step_task::is_known) == 1
             ? task_events::after_barrier
             : task_events::at_once;
}

/// Takes the interrupts of a step, in the order of its tasks: the order in which the tasks have
/// ended differs from run to run.
std::vector<interrupt> take_interrupts(run& r) {
  auto& extras = r.more();
  auto found = *std::exchange(extras.interrupts, std::nullopt);
  const auto tasks = std::exchange(extras.interrupted_tasks, {});
  SUPERSTEP_ASSERT(tasks.size() == found.size());
  auto order = std::vector<std::size_t>(found.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t each) { return tasks[each]; });
  auto sorted = std::vector<interrupt>{};
  sorted.reserve(found.size());
  for (const auto each : order)
    sorted.push_back(std::move(found[each]));
  return sorted;
}

} // namespace

/// Ends a run whose step has failed, or has a command for the parent graph. The command ends the
/// graph, so the questions of its siblings are dropped.
void step_policy::end_settled(run& r) {
  auto failure = r.take_failure();
  if (!failure) {
    r.more().interrupts.reset();
    r.more().interrupted_tasks.clear();
  }
  runs_.end(r, std::move(failure));
}

/// Decides what to do when a step has no task to start.
next_action::kind step_policy::end_step(run& r) noexcept {
  using kind = next_action::kind;
  auto next = kind::wait;
  // one handler for all user code here: copies and moves of values of the user's types
  runs_.guard(r, nullptr, [&] {
    if (r.phase == run_phase::settling) {
      if (!runs_.tasks().settles(r))
        end_settled(r);
      return;
    }
    if (!r.is_step_over()) {
      if (r.first_end_ns == 0 && !r.step.finished.empty())
        r.first_end_ns = host_.now_ns();
      return;
    }
    if (barrier(r) && leave_barrier(r))
      next = kind::new_step;
  });
  return next;
}

/// Applies the outputs of the step's tasks to the state. Called when all tasks have ended. Returns
/// false if the run has ended, or waits until a job thread has applied them.
bool step_policy::barrier(run& r) {
  SUPERSTEP_ASSERT(r.is_step_over() && r.again.empty());
  transition(r, run_phase::applying);
  if (r.first_end_ns != 0)
    r.counters.barrier_waits_ns.push_back(host_.now_ns() - std::exchange(r.first_end_ns, 0));
  if (r.streams(stream_mode::debug))
    run_events{r}.barrier();
  if (r.extras().interrupts) {
    stop_at_interrupts(r);
    return false;
  }
  if (!r.is_fast_path() && ends_broken(r))
    return false;
  if ((r.step.writes.size() + r.step.sends.size() > writes_in_place_max && !host_.is_alone()) ||
      slowness_of_barriers(r).load(std::memory_order_relaxed) > 0) {
    offload_barrier(r);
    return false;
  }
  if (SUPERSTEP_MUTANT(apply_half_a_step) && r.step.tasks.size() > 1)
    r.step.tasks.back().writes.count = 0;
  const auto since = host_.ticks();
  const auto applied = apply(r.state, r.step);
  learn_barrier(r, host_.ticks() - since);
  return finish_barrier(r, applied);
}

/// Completes a barrier: fails the run if its step could not be applied. Returns false if the run
/// has ended.
bool step_policy::finish_barrier(run& r, const result<void>& how) {
  if (!how) {
    fail_step(r, how.error());
    return false;
  }
  if (host_.has_mail())
    host_.apply_mail(r);
  return r.is_fast_path() || finish_step(r);
}

/// Lets a job thread apply the step. barrier_ended() continues the run.
void step_policy::offload_barrier(run& r) {
  auto& c = runs_.calls().take();
  c.owner = &r;
  try {
    c.config = r.request.config;
    auto& barrier = c.more().barrier;
    barrier = std::make_unique<large_barrier>();
    barrier->below = r.request.below;
    barrier->state = r.state.stand_in();
    barrier->since = host_.ticks();
    runs_.calls().detach(r, c, call_phase::job);
  } catch (...) {
    runs_.calls().put_back(c);
    throw;
  }
  std::swap(c.extras().barrier->state, r.state);
  std::swap(c.extras().barrier->step, r.step);
  ++r.barriers_offloaded;
  each_above(r, [](const nested_in& at) { ++at.above->barriers_offloaded; });
  if (host_.start_job(c))
    return;
  c.advance({});
  barrier_ended(c);
}

/// Continues a run whose step was applied outside of the lane.
void step_policy::barrier_ended(call& c) noexcept {
  auto& r = *c.owner;
  const auto done = c.take(&call_extras::barrier);
  SUPERSTEP_ASSERT(done != nullptr);
  runs_.calls().drop(c);
  runs_.calls().move(c, call_phase::waiting); // it is not offloaded any more
  runs_.calls().free(c);
  r.state = std::move(done->state);
  r.step = std::move(done->step);
  learn_barrier(r, host_.ticks() - done->since);
  count_barrier_end(r);
  runs_.guard(r, nullptr, [&] { // copies and moves of values are user code
    if (r.phase == run_phase::cancelling && (done->thrown || !done->applied))
      return; // the run reports that it was cancelled
    if (done->thrown)
      std::rethrow_exception(done->thrown);
    if (finish_barrier(r, done->applied) && r.phase == run_phase::applying && leave_barrier(r))
      runs_.queue(r);
  });
  if (r.phase == run_phase::cancelling)
    r.step.clear(); // it is applied; no task is left that could get an output
}

/// Records that the step of a run is not applied by a job thread any more. A cancelled run that has
/// waited for it is listed as ready, unless something else, such as its deadline, ends it now.
void step_policy::count_barrier_end(run& r) noexcept {
  const auto count = [this](run& of) {
    SUPERSTEP_ASSERT(of.barriers_offloaded > 0);
    if (--of.barriers_offloaded == 0 && of.extras().cancelled && of.phase == run_phase::cancelling)
      runs_.ready().push_back(of.group(), of.turn);
  };
  count(r);
  each_above(r, [&](const nested_in& at) { count(*at.above); });
}

/// Sends the events of the step that was just applied, and saves its checkpoint. Returns false if
/// the run has ended.
bool step_policy::finish_step(run& r) {
  r.active_stops = run::stop_before | run::stop_after;
  run_events{r}.send_held();
  run_events{r}.values();
  // if the lane has no other run, it may wait for the disk itself, without delaying another run
  if (r.thread) {
    const auto may_wait = host_.is_alone();
    host_.set_saving(may_wait);
    call_user(r, "saving the checkpoint of the step",
              [&] { r.thread->save(r.state, checkpoint_source::loop, may_wait); });
    host_.set_saving(false);
    if (r.thread->failure()) {
      fail_step(r, *r.thread->failure());
      return false;
    }
  }
  if (ends_broken(r))
    return false;
  r.forget_step();
  return true;
}

/// Ends the run if user code outside bodies has thrown; returns whether it did.
bool step_policy::ends_broken(run& r) {
  if (r.request.is_guarded && !r.extras().broken)
    if (auto cause = r.request.sink_failure())
      r.more().broken = std::make_unique<run_error>(
          error_of_user_code("the sink of the run's events", std::move(cause), r.state.step()));
  if (r.extras().broken) {
    runs_.end(r, std::move(*r.own_extras->broken));
    return true;
  }
  if (r.is(run_trait::no_memory)) {
    runs_.end(r, make_run_error(errc::shortage, "out of memory", r.state.step()));
    return true;
  }
  return false;
}

void step_policy::fail_step(run& r, const error& refused) {
  runs_.end(r, make_run_error(refused.code,
                              "step " + std::to_string(r.state.step()) + ": " + refused.text,
                              r.state.step()));
}

/// Ends the run at an interrupt or a breakpoint. If the run has a checkpointer, it can be resumed.
void step_policy::stop(run& r, std::vector<interrupt> interrupts) {
  // a breakpoint: only the outermost run sends the event
  if (interrupts.empty() && !r.request.below)
    run_events{r}.interrupted(run_events::no_task, interrupts);
  r.more().interrupts = std::move(interrupts);
  runs_.end(r, std::nullopt);
}

/// Stops the run at the barrier because tasks were interrupted. The outputs of the other tasks are
/// not saved as a step: the thread stores them as records until the step is resumed. For the
/// outermost graph they are applied here, only so that the result shows them.
void step_policy::stop_at_interrupts(run& r) {
  auto interrupts = take_interrupts(r);
  run_events{r}.send_held(); // an interrupt does not make the other tasks fail
  if (!r.step.finished.empty() && !r.request.below) {
    const auto wrote = std::ranges::any_of(
        r.step.tasks, [](const step_task& t) { return t.writes.count + t.targets.count > 0; });
    if (auto applied = apply_step(r); !applied) {
      fail_step(r, applied.error());
      return;
    }
    if (wrote)
      run_events{r}.values();
  }
  stop(r, std::move(interrupts));
}

/// Prepares the super-step after a barrier, unless a breakpoint stops the run there. Returns false
/// if the run has ended or waits.
bool step_policy::leave_barrier(run& r) {
  return advance(r, stops_at(r, run::stop_after) ? step_from::breakpoint : step_from::barrier);
}

/// Prepares the next super-step. Returns false if the run has ended or waits.
bool step_policy::advance(run& r, step_from from) {
  transition(r, run_phase::preparing);
  r.next_task = 0;
  r.idle_polls = 0;
  const auto next = prepare(r.state, r.step);
  if (!r.is_fast_path()) {
    if (r.own_extras)
      r.own_extras->handled.clear();
    if (r.streams(stream_mode::checkpoints) && r.thread && r.thread->checkpointer())
      run_events{r}.checkpoint();
    if (from == step_from::breakpoint) {
      stop(r, {});
      return false;
    }
    if (r.streams(stream_mode::debug))
      run_events{r}.step();
  }
  if (next == next_step::done) {
    runs_.end(r, std::nullopt);
    return false;
  }
  if (next == next_step::out_of_steps) {
    runs_.end(r, make_run_error(
                     graph_errc::recursion_limit,
                     "Recursion limit of " + std::to_string(r.request.config->recursion_limit) +
                         " reached without hitting a stop condition. Raise recursion_limit in "
                         "run_config or in the agent file, or check whether the graph can end.",
                     r.state.step()));
    return false;
  }
  if (!r.extras().drained_for.empty()) {
    runs_.end(r,
              make_run_error(graph_errc::drained, std::move(r.more().drained_for), r.state.step()));
    return false;
  }
  ++r.counters.steps;
  r.counters.tasks += r.step.tasks.size();
  if (!r.is_fast_path())
    return begin_step(r, from);
  transition(r, run_phase::running);
  return true;
}

/// Sets up a step before its tasks start: timeout, known outputs, breakpoints. Returns false if the
/// run has ended or waits.
bool step_policy::begin_step(run& r, step_from from) {
  if (r.table().options().step_timeout) {
    auto& extras = r.more();
    extras.step_due = run::time_point::max();
    runs_.timers().clear(extras.step_timer); // of the step before
  }
  if (r.thread)
    take_known(r);
  if (stops_at(r, run::stop_before)) {
    stop(r, {});
    return false;
  }
  if (r.streams(stream_mode::tasks))
    for (auto i = std::uint32_t{0}; i < r.step.tasks.size(); ++i)
      run_events{r}.started(i);
  if (r.thread || r.cache != nullptr)
    begin_known(r);
  r.events_of_tasks = events_of(r);
  if (ends_broken(r))
    return false;
  // With sync durability, the run waits until its checkpoint is durable. Meanwhile the lane
  // continues with other runs.
  auto waits = false;
  if (r.thread && r.thread->checkpointer() && r.thread->when() == durability::sync) {
    call_user(r, "the checkpointer", [&] { waits = host_.wait_until_saved(r); });
    if (ends_broken(r))
      return false;
  }
  if (waits) {
    transition(r, run_phase::saving);
    return false;
  }
  if (from != step_from::opening)
    return enter_step(r);
  let_tasks_start(r);
  return true;
}

/// Lets the tasks of a prepared step start, unless the reader of the run's stream is behind.
/// Returns false if the run waits for the reader.
bool step_policy::enter_step(run& r) {
  if (r.request.sink && r.request.sink->is_full()) {
    transition(r, run_phase::paused);
    return false;
  }
  let_tasks_start(r);
  return true;
}

/// Lets the tasks of a prepared step start. The timeout of the step begins now: it does not include
/// the time in which the run has waited for its reader or its checkpoint.
void step_policy::let_tasks_start(run& r) {
  if (const auto& limit = r.table().options().step_timeout) {
    auto& extras = r.more();
    extras.step_due = detail::deadline_after(host_.now(), *limit);
    runs_.timers().set(extras.step_timer, extras.step_due);
  }
  transition(r, run_phase::running);
}

} // namespace superstep

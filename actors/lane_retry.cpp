// SPDX-License-Identifier: Apache-2.0
// Handles failed tasks (further attempts, error handlers) and the timeouts of calls and steps.
// lane_runs.cpp calls will_retry() and begin_handler() before a task's failure becomes the failure
// of the run.
#include "base/deadline.hpp"
#include "lane.hpp"

#include <superstep/runtime/node_options.hpp>

#include <algorithm>

namespace superstep {

/// Schedules another attempt of a failed task if a retry policy allows one; returns whether it did.
/// The task is added to run::again, at once or by an alarm. Until then the barrier waits for the
/// task.
bool lane::will_retry(run& r, std::uint32_t number, run_error& error) {
  auto& t = r.step.tasks[number];
  const auto& policies = r.table().node(t.node).options.retry;
  if (policies.empty())
    return false;
  const auto* policy = static_cast<const retry_policy*>(nullptr);
  try {
    policy = find_policy(policies, error.cause, t.attempt);
  } catch (...) { // a retry predicate is user code; its exception is added to the run's error
    error.text += "; its retry_on function failed too: " + describe(std::current_exception());
  }
  if (policy == nullptr)
    return false;
  const auto wait = wait_after(*policy, t.attempt, luck_());
  ++t.attempt;
  if (wait.count() == 0) {
    r.again.push_back(number);
    queue(r);
    return true;
  }
  ++r.waiting;
  set_alarm(alarm_kind::retry, now() + wait, r, number);
  return true;
}

void lane::retry_due(run& r, std::uint32_t number) {
  SUPERSTEP_ASSERT(r.waiting > 0);
  --r.waiting;
  r.again.push_back(number);
  queue(r);
}

/// Sets the deadline of a new run: its own, or that of the call that started it.
void lane::set_deadline(run& r) {
  const auto* const below = r.request.below.get();
  r.due = below != nullptr ? below->due : time_point::max();
  r.step_due = time_point::max();
  if (const auto& length = r.request.config->deadline; length && below == nullptr) {
    r.due = detail::deadline_after(now(), *length);
    set_alarm(alarm_kind::deadline, r.due, r);
  }
  r.has_limits = r.due != time_point::max() || r.request.table->times_nodes() ||
                 r.request.table->options().step_timeout.has_value();
}

/// Returns the timeouts of a call: those of its node, with `run` replaced by the timeout of the
/// Send if it has one.
std::optional<timeout_policy> lane::timeout_of(const run& r, const call& c) const {
  const auto& t = r.step.tasks[c.task_number];
  auto limit = r.table().node(t.node).options.timeout;
  if (!t.is_push() || t.failed_node != step_task::pull)
    return limit;
  if (const auto own = (*r.step.inputs)[t.push_index].timeout; own.count() > 0) {
    if (!limit)
      limit.emplace();
    limit->run = own;
  }
  return limit;
}

/// Sets the fields of a call for its deadline and timeouts. Called before the body starts, because
/// afterwards other threads may read them and the body may report progress.
void lane::set_limits(const run& r, call& c) {
  if (r.step.tasks[c.task_number].node == detail::program::no_node)
    return;
  c.due = std::min(r.due, r.step_due);
  c.has_deadline = c.due != time_point::max();
  const auto limit = timeout_of(r, c);
  if (!limit)
    return;
  c.started = now();
  if (limit->run) {
    c.due = std::min(c.due, detail::deadline_after(c.started, *limit->run));
    c.has_deadline = true;
  }
  c.is_timed = true;
  c.heartbeats_only = limit->heartbeats_only;
  c.progressed.store(c.started.time_since_epoch().count(), std::memory_order_relaxed);
}

/// Sets the first timeout alarm of a detached call. Bodies that run in place need none, because
/// they end or are detached soon.
/// @pre the call belongs to a task and was not forked
void lane::watch_time(const run& r, call& c) {
  if (!c.is_timed)
    return;
  const auto limit = timeout_of(r, c);
  SUPERSTEP_ASSERT(limit.has_value());
  constexpr auto none = std::chrono::milliseconds::max();
  set_alarm(detail::deadline_after(c.started,
                                   std::min(limit->run.value_or(none), limit->idle.value_or(none))),
            c);
}

/// Handles a timeout alarm: fails the call if it has exceeded a timeout, or sets the next alarm.
void lane::look_at_time(call& c) {
  if (c.owner == nullptr || !c.is_detached)
    return;
  auto& r = *c.owner;
  const auto limit = timeout_of(r, c).value_or(timeout_policy{});
  const auto time = now();
  const auto progressed =
      time_point{time_point::duration{c.progressed.load(std::memory_order_relaxed)}};
  auto due = time_point::max();
  if (limit.run)
    due = detail::deadline_after(c.started, *limit.run);
  const auto is_over = due <= time;
  if (limit.idle)
    due = std::min(due, detail::deadline_after(progressed, *limit.idle));
  if (due > time) {
    set_alarm(due, c);
    return;
  }
  using kind = node_timeout_error::kind;
  const auto elapsed = [&](time_point since) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(time - since);
  };
  const auto number = c.task_number;
  auto error = error_of(r, number, graph_errc::node_timeout, nullptr);
  const auto passed = is_over
                          ? node_timeout_error{kind::run, *limit.run, elapsed(c.started), error}
                          : node_timeout_error{kind::idle, *limit.idle, elapsed(progressed), error};
  error = passed.details();
  error.cause = std::make_exception_ptr(passed);
  const auto config = c.config; // the failure handler needs it after the record is recycled
  auto input = c.input;
  input.config = &config;
  input.services = nullptr;
  input.failure = nullptr;
  if (c.talk)
    r.keep_abandoned_talk(number, *c.talk);
  abandon(c);
  task_failed(r, number, input, {}, std::move(error));
  reschedule_if_ready(r);
}

void lane::watch_step(run& r) {
  r.step_due = detail::deadline_after(now(), *r.table().options().step_timeout);
  set_alarm(alarm_kind::step_limit, r.step_due, r);
}

void lane::step_took_too_long(run& r) {
  auto text = "step " + std::to_string(r.state.step()) + " of graph '" + r.table().name() +
              "' took longer than " + std::to_string(r.table().options().step_timeout->count()) +
              " ms";
  end_run(r, make_run_error(graph_errc::step_timeout, std::move(text), r.state.step()));
}

/// Runs the error handler of a node in place of a task that failed and is not retried. Returns
/// false if the node has no error handler, or if the failed task runs one.
bool lane::begin_handler(run& r, std::uint32_t number, const run_error& error) {
  auto& t = r.step.tasks[number];
  if (t.failed_node != step_task::pull || t.node == detail::program::no_node ||
      r.table().node(t.node).handler == detail::program::no_node)
    return false;
  if (r.thread)
    tell_thread(r, number, nullptr, &error);
  r.is_single_task = false;
  if (r.streams(stream_mode::tasks))
    tell_finish(r, number, {}, &error);
  become_handler(r, number, std::make_shared<const run_error>(error));
  if (r.streams(stream_mode::tasks))
    tell_start(r, number);
  r.again.push_back(number);
  queue(r);
  return true;
}

void lane::become_handler(run& r, std::uint32_t number, std::shared_ptr<const run_error> why) {
  auto& t = r.step.tasks[number];
  t.failed_node = t.node;
  t.node = r.table().node(t.node).handler;
  t.attempt = 1;
  r.is_fast_path = false;
  r.handled.insert_or_assign(number, std::move(why));
}

/// Fills the call record of an error handler. The graph's default handler reads the state, even if
/// the failed task had the payload of a Send.
void lane::give_failure(run& r, call& c, std::uint32_t number) {
  const auto& t = r.step.tasks[number];
  if (const auto found = r.handled.find(number); found != r.handled.end())
    c.failure = found->second;
  c.has_observers = true;
  c.input.failure = &c.failure;
  if (!r.table().node(t.node).takes_payload && r.table().node(t.failed_node).takes_payload)
    c.input.payload = nullptr;
}

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
// Calls and the results of tasks: outputs, interrupts, failures, further attempts, error handlers,
// timeouts and nested runs. A body that ends in place uses the shared record of its lane. If it
// suspends, is taken over or becomes a job, its call is detached: it has its own record and is
// listed in run::open until the body ends or the call is abandoned. Calls that a body forks
// (when_all) are always detached.
#include "task_policy.hpp"

#include "base/held_exception.hpp"
#include "call_setup.hpp"
#include "coordinator.hpp"
#include "run_events.hpp"
#include "runtime/final_failure.hpp"
#include "runtime/retry_policy.hpp"
#include "simulation.hpp"
#include "task_records.hpp"
#include "user_code.hpp"

#include <algorithm>
#include <chrono>
#include <tuple>
#include <utility>

namespace superstep {

namespace {

/// After this number of checks without progress the siblings of a failed task count as suspended.
/// The checks are one turn of the run apart, so that each ready entry of the run gets its turn
/// between two of them.
constexpr auto idle_polls_max = std::uint32_t{2};

/// The longest time that a failed step waits for siblings that are offloaded. Longer than the
/// system may delay a short body, and still short for a caller who waits for the result.
constexpr auto settle_timeout = std::chrono::milliseconds{100};

/// Records the interrupts of a task. After a resume the task runs again from its beginning.
void on_task_interrupted(run& r, std::uint32_t number, task_interrupts& asked) {
  if (r.thread)
    record_in_thread(r, number, nullptr, nullptr);
  if (!asked.interrupts.empty())
    run_events{r}.interrupted(number, asked.interrupts);
  auto& extras = r.more();
  if (!extras.interrupts)
    extras.interrupts.emplace();
  for (const auto& each : asked.interrupts) {
    extras.interrupts->push_back(each);
    extras.interrupted_tasks.push_back(number);
  }
}

/// Passes the store and the cache of the outermost run to a nested run.
void share_resources(const run& r, nesting& below) {
  if (const auto& own = r.request.below) {
    below.memory = own->memory;
    below.cache = own->cache;
    return;
  }
  below.memory = own_resource(r, &thread_options::store, &compile_options::store);
  below.cache = own_resource(r, &thread_options::cache, &compile_options::cache);
}

/// Returns the link of a new nested run to the call that has started it.
std::shared_ptr<nested_in> link_to(call& parent, persistence how) {
  auto& r = *parent.owner;
  const auto& t = r.step.tasks[parent.task_number];
  const auto& node = r.table().node(t.node).name;
  const auto path = r.task_path(t);
  const auto key =
      r.thread ? r.thread->task_key(path) : path + '@' + std::to_string(r.state.step());
  auto below = std::make_shared<nested_in>();
  auto parent_ns = std::string{};
  if (const auto& above = r.request.below) {
    below->path = above->path;
    below->travel = above->travel;
    parent_ns = above->ns;
  } else if (r.thread) {
    below->travel = r.thread->travel();
  }
  below->path.push_back(node);
  below->ns = nested_namespace(parent_ns, how, node, key, parent.nested++);
  if (r.thread && how != persistence::none) {
    below->checkpointer = r.thread->checkpointer();
    below->thread_above = r.thread.get();
    below->id_prefix = r.thread->at() ? r.thread->at()->id : std::string{};
    below->is_persistent = how == persistence::per_thread;
    // A run that starts from an older checkpoint does not resume its subgraphs: they start again
    // from their input.
    below->must_resume = (r.thread->is_first_step() && !below->travel) || t.attempt > 1;
  }
  below->above = &r;
  below->above_generation = r.generation;
  below->caller = &parent;
  below->caller_generation = parent.generation;
  if (parent.is(call_trait::has_deadline))
    below->due = parent.extras().due;
  share_resources(r, *below);
  const auto& asked = parent.extras().asked;
  below->answers = asked ? asked->given : nullptr;
  below->journal = asked ? asked->place.journal : detail::effect_journal{};
  return below;
}

} // namespace

void task_policy::in_place_ended(run& r, call& c, bool exited) noexcept {
  SUPERSTEP_ASSERT(c.phase == call_phase::in_place && c.owner == &r);
  transition(c, call_phase::idle);
  ++c.generation; // a notice about this call that arrives later is ignored
  const auto number = c.task_number;
  if (r.is_fast_path() && !exited && !c.failed && !c.extras().asked && !c.out->output.to_parent) {
    c.forget_stop();
    try {
      r.step.record(number, std::move(c.out->output));
    } catch (...) {
      runs_.end(r, current_error("the end of a task", r.state.step()));
      c.drop_output();
    }
    return;
  }
  runs_.guard(r, "the end of a task", [&] {
    const auto asked = c.take(&call_extras::asked);
    c.forget_stop();
    if (asked)
      r.keep_interrupts(number, asked);
    if (exited || c.failed) {
      auto failed = SUPERSTEP_MUTANT(leave_outcome) ? c.failed : std::exchange(c.failed, nullptr);
      task_failed(r, number, c.input, c.take_output(),
                  task_error(r, number, exited ? graph_errc::actor_exited : graph_errc::node_failed,
                             exited ? nullptr : std::move(failed)));
    } else if (asked && asked->stopped) {
      c.drop_output();
      on_task_interrupted(r, number, *asked);
    } else {
      task_ended(r, number, std::move(c.out->output));
    }
  });
  if (!SUPERSTEP_MUTANT(leave_outcome))
    c.failed = nullptr;
  c.drop_output(); // what an exception has left
}

/// Lets a task's call keep its record, and sets the timer of its timeouts.
void task_policy::detach(run& r, call& c, call_phase to) {
  runs_.calls().detach(r, c, to);
  if (c.is(call_trait::is_timed))
    runs_.timers().set(c.more().limit_timer, first_limit(r, c));
}

void task_policy::in_place_suspended(run& r, call& c) noexcept {
  runs_.guard(r, "a call", [&] { detach(r, c, call_phase::suspended); });
}

void task_policy::was_taken(call& c) noexcept {
  SUPERSTEP_ASSERT(c.phase == call_phase::in_place || c.phase == call_phase::resuming);
  auto& r = *c.owner;
  if (c.is_detached()) {
    runs_.calls().move(c, call_phase::taken);
  } else {
    detach(r, c, call_phase::taken);
  }
  if (r.is_live())
    runs_.ready().push_front(r.group(), r.turn);
}

void task_policy::start_as_job(run& r, call& c) noexcept {
  runs_.guard(r, "a call", [&] {
    detach(r, c, call_phase::job);
    if (host_.start_job(c))
      return;
    // no thread is available: the lane runs the body itself, after the other ready entries
    runs_.calls().move(c, call_phase::waiting);
    c.turn.set_kind(ready_kind::start_call);
    runs_.ready().push_back(r.group(), c.turn);
  });
}

void task_policy::start_by_message(run& r, call& c) noexcept {
  runs_.guard(r, "a call", [&] {
    detach(r, c, call_phase::mailed);
    c.turn.set_kind(ready_kind::start_call);
    mail_activation(c);
  });
}

void task_policy::continue_by_message(call& c) noexcept {
  runs_.guard(*c.owner, "a call", [&] {
    runs_.calls().move(c, call_phase::mailed);
    mail_activation(c);
  });
}

/// Sends the activation of a call. If the actor has died, the call fails.
void task_policy::mail_activation(call& c) {
  auto is_sent = false;
  try {
    is_sent = host_.mail_activation(c);
  } catch (...) { // memory is short
    runs_.calls().move(c, call_phase::activated);
    throw;
  }
  if (!is_sent)
    activation_answered(c);
}

void task_policy::activation_answered(call& c) noexcept {
  SUPERSTEP_ASSERT(c.phase == call_phase::mailed && c.owner != nullptr);
  runs_.calls().move(c, call_phase::activated);
  if (c.progress == body_progress::activated)
    runs_.ready().push_back(c.owner->group(), c.turn);
  else
    call_exited(c);
}

void task_policy::call_ended(call& c) noexcept {
  if (c.extras().barrier) {
    runs_.steps().barrier_ended(c);
    return;
  }
  auto& r = *c.owner;
  const auto number = c.task_number;
  const auto join = c.take(&call_extras::join);
  const auto asked = c.take(&call_extras::asked);
  end_children(c);
  c.waits.clear();
  runs_.calls().drop(c);
  if (c.is_offloaded())
    runs_.calls().move(c, call_phase::suspended);
  host_.release(c);
  if (join) {
    runs_.calls().free(c);
    join->one_done();
    return;
  }
  runs_.guard(r, "the end of a task", [&] {
    if (r.first_end_ns == 0 && !r.open.empty())
      r.first_end_ns = host_.now_ns();
    if (asked)
      r.keep_interrupts(number, asked);
    if (!c.failed && asked && asked->stopped) {
      on_task_interrupted(r, number, *asked);
    } else if (c.failed) {
      task_failed(r, number, c.input, c.take_output(),
                  task_error(r, number, graph_errc::node_failed, std::exchange(c.failed, nullptr)));
    } else {
      // with no other reader, the barrier can change the state without copying it
      c.state_hold.reset();
      c.inputs_hold.reset();
      task_ended(r, number, c.take_output());
    }
  });
  runs_.calls().free(c);
  if (r.extras().failure && SUPERSTEP_MUTANT(lose_wakeup))
    return;
  runs_.queue_after_call(r);
}

void task_policy::call_returned(call& c) noexcept {
  if (c.owner == nullptr) { // the call was abandoned meanwhile
    if (c.take_activation())
      host_.release_activated(c);
    else
      host_.release(c);
    runs_.calls().free(c);
    return;
  }
  if (c.has_ended())
    call_ended(c);
  else
    runs_.calls().move(c, call_phase::suspended);
}

/// Ends a call whose body has not ended, because of an exit message, a cancellation, a timeout or
/// the failure of a sibling. A suspended body is destroyed. A running body runs to completion and
/// its result is discarded. A queued body is never started, because the job thread finds it
/// claimed. If its activation is mailed, the body is destroyed, and the record waits for the actor.
/// The calls that it has forked and its nested runs end first.
void task_policy::abandon(call& c) noexcept {
  while (auto* const fork = c.extras().first_fork)
    abandon(*fork);
  end_children(c);
  if (c.extras().barrier)
    runs_.steps().count_barrier_end(*c.owner);
  const auto join = c.take(&call_extras::join);
  const auto was = call_phase{c.phase};
  const auto is_elsewhere = c.is_offloaded();
  runs_.calls().drop(c);
  if (is_elsewhere)
    runs_.calls().move(c, call_phase::given_up);
  SUPERSTEP_ASSERT(c.extras().first_fork == nullptr && c.extras().next_fork == nullptr);
  if (was == call_phase::mailed) {
    c.drop_body(); // the actor stays until it has answered
  } else {
    if (was == call_phase::job)
      c.claimed.store(true, std::memory_order_release);
    if (is_elsewhere) {
      c.waits.clear();
      c.request_stop();
    }
    host_.release(c);
    if (was == call_phase::activated) // ends as a body that the lane has resumed
      runs_.calls().move(c, call_phase::resuming);
  }
  c.leave_run();
  if (!is_elsewhere)
    runs_.calls().free(c);
  if (join)
    join->one_done();
}

/// Ends the nested runs of a call whose body has ended or was abandoned. They get no output from
/// their on_failure handlers: their results are not used, and their threads can be resumed.
void task_policy::end_children(call& c) noexcept {
  while (c.extras().first_child != nullptr && !SUPERSTEP_MUTANT(skip_child_on_cancel)) {
    auto& each = *c.extras().first_child;
    runs_.end(each, make_run_error(graph_errc::cancelled, "cancelled", each.state.step()));
    SUPERSTEP_ASSERT(c.extras().first_child != &each);
  }
}

void task_policy::call_exited(call& c) noexcept {
  if (c.owner == nullptr || !c.is_detached())
    return;
  auto& r = *c.owner;
  runs_.guard(r, "the exit of an actor", [&] {
    if (c.extras().join)
      abandon(c);
    else
      fail_call(c, task_error(r, c.task_number, graph_errc::actor_exited, nullptr));
  });
  runs_.queue_after_call(r);
}

/// Abandons a call and fails its task.
void task_policy::fail_call(call& c, run_error&& error) {
  auto& r = *c.owner;
  const auto number = c.task_number;
  const auto config = c.config; // the failure handler needs it after the record is recycled
  auto input = c.input;
  input.config = &config;
  input.services = nullptr;
  const auto unusual =
      unusual_input{nullptr, input.unusual != nullptr ? input.unusual->ns : nullptr};
  if (input.unusual != nullptr)
    input.unusual = &unusual;
  if (const auto asked = c.asked())
    r.keep_abandoned_interrupts(number, *asked);
  abandon(c);
  task_failed(r, number, input, {}, std::move(error));
}

/// Handles a timeout of a call: fails the call if it has exceeded one, or sets the timer again.
void task_policy::limit_due(call& c, run::time_point now) {
  auto& r = *c.owner;
  auto checked = check_limits(r, c, now);
  if (!checked.passed) {
    runs_.timers().set(c.more().limit_timer, checked.due);
    return;
  }
  fail_call(c, std::move(*checked.passed));
  runs_.queue_after_call(r);
}

void task_policy::start_failed(run& r, std::uint32_t number) noexcept {
  runs_.guard(r, "the start of a task", [&] {
    task_failed(r, number, {}, {},
                task_error(r, number, graph_errc::node_failed, std::current_exception()));
  });
}

void task_policy::task_ended(run& r, std::uint32_t number, node_output&& output) {
  if (r.is_fast_path() && !output.to_parent) {
    r.step.record(number, std::move(output));
    return;
  }
  if (output.to_parent) {
    // The command is removed from `output` in each case, because other tasks reuse `output`.
    auto command = std::exchange(output, {}).to_parent;
    if (!r.request.below) {
      auto error = task_error(r, number, graph_errc::no_parent, nullptr);
      error.text += "it returned a command to the parent graph, but the graph has no parent";
      task_failed(r, number, {}, {}, std::move(error));
      return;
    }
    if (auto& first = r.more().to_parent; !first)
      first = std::move(command);
    settle(r);
    return;
  }
  if (r.thread)
    record_in_thread(r, number, &output, nullptr);
  if (!r.extras().cache_keys.empty())
    cache_output(r, number, output);
  run_events{r}.update(number, output);
  if (r.streams(stream_mode::tasks))
    run_events{r}.finished(number, output, nullptr);
  r.step.record(number, std::move(output));
}

/// Schedules another attempt of a failed task, or handles its failure. Returns false if the node
/// has no option for that.
bool task_policy::recover(run& r, std::uint32_t number, const body_input& input, run_error& error) {
  if (retry(r, number, error))
    return true;
  const auto& handler = r.table().node(r.step.tasks[number].node).options.on_failure;
  if (handler && input.table != nullptr) {
    try {
      if (auto instead = handler(input, error)) {
        task_ended(r, number, std::move(*instead));
        return true;
      }
    } catch (...) { // the handler is user code; its exception is added to the run's error
      error.text += "; its on_failure function failed too: " + describe(std::current_exception());
    }
  }
  return begin_handler(r, number, error);
}

void task_policy::task_failed(run& r, std::uint32_t number, const body_input& input,
                              node_output&& written, run_error error) {
  if (!detail::holds<detail::final_failure>(error.cause) && recover(r, number, input, error))
    return;
  if (r.thread)
    record_in_thread(r, number, &written, &error);
  r.events_of_tasks = task_events::at_once;
  if (!written.writes.empty())
    run_events{r}.update(number, written);
  if (r.streams(stream_mode::tasks))
    run_events{r}.finished(number, written, &error);
  // Without max_concurrency, all tasks of a step start, even if one of them fails at once. If
  // several tasks fail, attempts and task path decide which failure becomes the run's error, so
  // that timing does not matter.
  const auto comes_first = [](const run_error& a, const run_error& b) {
    return std::tie(a.attempts, a.task) < std::tie(b.attempts, b.task);
  };
  const auto& first = r.extras().failure;
  if (!first || comes_first(error, *first) || SUPERSTEP_MUTANT(reorder_failures))
    r.more().failure = std::make_unique<run_error>(std::move(error));
  settle(r);
}

/// Records that no output of the step will be applied: a task has failed, or has returned a command
/// to the parent graph. If no task may start, the run's next turn is to wait for the others.
void task_policy::settle(run& r) noexcept {
  SUPERSTEP_ASSERT(r.extras().failure || r.extras().to_parent);
  if (r.phase == run_phase::running)
    transition(r, run_phase::settling);
  if (!r.has_to_start())
    runs_.queue(r);
}

/// Decides whether a failed run still waits for the siblings of the failed task (the other tasks of
/// the step). If so, and unless the end of a task will wake the run, also schedules the next check.
/// With a checkpointer, the run waits for all siblings, because their outputs are saved and a
/// resume does not repeat them. Without it, the outputs are lost. The run then waits only as long
/// as siblings make progress on the lane; suspended ones are cancelled. Offloaded ones get
/// settle_timeout, so that the outcome does not depend on whether the system delayed a short body.
bool task_policy::settles(run& r) {
  // With max_concurrency, no further attempt starts after a failure.
  if (r.open.empty() && (r.extras().retries.empty() || r.detached_tasks_max != 0))
    return false;
  if (r.thread && r.thread->checkpointer())
    return true;
  if (r.offloaded > 0) {
    r.idle_polls = 0;
    if (auto& limit = r.more().settle_timer; !limit.is_set())
      runs_.timers().set(limit, host_.now() + settle_timeout);
    return true;
  }
  if (std::exchange(r.seen_activity, r.activity) != r.activity)
    r.idle_polls = 0;
  else if (++r.idle_polls > idle_polls_max)
    return false;
  runs_.queue(r);
  return true;
}

/// Schedules another attempt of a failed task if a retry policy allows one; returns whether it did.
/// The task is added to run::again, at once or by a timer. Until then the barrier waits for the
/// task.
bool task_policy::retry(run& r, std::uint32_t number, run_error& error) {
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
  const auto wait = wait_after(*policy, t.attempt, host_.random());
  if (wait.count() == 0) {
    r.again.push_back(number);
    ++t.attempt;
    runs_.queue(r);
    return true;
  }
  auto& retries = r.more().retries;
  retries.push_back(std::make_unique<retry_timer>(r, number, retries.size()));
  runs_.timers().set(*retries.back(), host_.now() + wait);
  ++t.attempt;
  return true;
}

/// Runs the error handler of a node in place of a task that failed and is not retried. Returns
/// false if the node has no error handler, or if the failed task runs one.
bool task_policy::begin_handler(run& r, std::uint32_t number, const run_error& error) {
  auto& t = r.step.tasks[number];
  if (t.failed_node != step_task::pull || t.node == detail::program::no_node ||
      r.table().node(t.node).handler == detail::program::no_node)
    return false;
  if (r.thread)
    record_in_thread(r, number, nullptr, &error);
  r.events_of_tasks = task_events::at_once;
  if (r.streams(stream_mode::tasks))
    run_events{r}.finished(number, {}, &error);
  become_handler(r, number, std::make_shared<const run_error>(error));
  if (r.streams(stream_mode::tasks))
    run_events{r}.started(number);
  r.again.push_back(number);
  runs_.queue(r);
  return true;
}

void task_policy::begin_fork(call& parent, std::uint32_t generation, task<void>&& body,
                             boost::intrusive_ptr<fork_join>&& join) noexcept {
  // the parent's body has ended or was abandoned
  if (parent.generation != generation || parent.owner == nullptr) {
    body = {};
    join->one_done();
    return;
  }
  auto& r = *parent.owner;
  if (r.phase == run_phase::cancelling) // the parent's body is never resumed
    return;
  const auto held = join;
  auto is_added = false;
  runs_.guard(r, "a forked call", [&] {
    runs_.calls().add_fork(parent, std::move(body), std::move(join));
    is_added = true;
  });
  if (!is_added)
    held->one_done();
}

void task_policy::begin_nested(call& parent, std::uint32_t generation, detail::program_ptr table,
                               write_list input,
                               const completer<detail::nested_outcome>& done) noexcept {
  // the parent's call has ended meanwhile
  if (parent.generation != generation || parent.owner == nullptr)
    return;
  auto& r = *parent.owner;
  if (r.phase == run_phase::cancelling)
    return;
  runs_.guard(r, "the start of a nested run", [&] {
    auto request = run_request{};
    request.below = link_to(parent, table->options().persistence);
    request.table = std::move(table);
    request.input = detail::run_input{std::move(input)};
    request.config = r.request.config;
    if (r.streams(stream_mode::subgraphs)) {
      request.modes = r.request.modes;
      request.sink = r.request.sink;
      request.is_guarded = r.request.is_guarded;
    }
    request.done = [done](detail::raw_result raw) {
      done(detail::nested_outcome{std::move(raw.shown), std::move(raw.error),
                                  std::move(raw.interrupts), std::move(raw.to_parent)});
    };
    const auto number = host_.expect_run();
    runs_.begin_run(number, std::move(request));
    if (runs_.find_run(number) != nullptr)
      done.on_abandon(host_.canceller(number));
  });
}

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
// The runs of a lane: how runs begin, start the tasks of a step, fail and end. lane_steps.cpp takes
// a run from one super-step to the next, lane_calls.cpp executes the bodies, and lane_threads.cpp
// takes leases on threads and waits for checkpointers.
#include "engine_core.hpp"
#include "lane.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace superstep {

namespace {

constexpr auto pinned_max = std::size_t{8};

/// After this number of checks without progress the siblings of a failed task count as suspended.
/// The checks are one turn of the lane apart, so that each ready entry gets its turn between two of
/// them.
constexpr auto idle_polls_max = std::uint32_t{2};

/// The longest time that a failed step waits for siblings that are offloaded. Longer than the
/// system may delay a short body, and still short for a caller who waits for the result.
constexpr auto patience_time = std::chrono::milliseconds{100};

/// The longest time for which a lane starts tasks of one run while others wait. The time is checked
/// after each `tasks_per_check` tasks.
constexpr auto turn_time = std::chrono::milliseconds{2};
constexpr auto tasks_per_check = std::uint32_t{16};

} // namespace

run& lane::take_run() {
  if (free_runs_.empty()) {
    runs_.push_back(std::make_unique<run>());
    return *runs_.back();
  }
  auto& r = *free_runs_.back();
  free_runs_.pop_back();
  return r;
}

detail::program_ptr lane::pin(const detail::program_ptr& table) {
  for (const auto& p : pinned_) {
    if (p == table)
      return p;
  }
  if (pinned_.size() == pinned_max)
    pinned_.erase(pinned_.begin());
  auto own = std::allocate_shared<const detail::program_ptr>(
      cache_line_allocator<detail::program_ptr>{}, table);
  return pinned_.emplace_back(own, table.get());
}

run* lane::find_run(std::uint64_t number) noexcept {
  const auto found = live_.find(number);
  return found == live_.end() ? nullptr : found->second;
}

std::vector<run*> lane::live_runs() {
  auto all = std::vector<run*>{};
  for (const auto& [number, r] : live_)
    all.push_back(r);
  return all;
}

/// Reports activity of a nested run to its ancestors, where settles() and timeouts use it.
void lane::note_activity(const run& r) noexcept {
  each_above(r, [](const nested_in& at) {
    ++at.above->activity;
    if (at.caller->generation == at.caller_generation)
      at.caller->note_progress(false);
  });
}

/// Records that a call is offloaded: its body runs on, or is queued for, a thread that does not
/// serve the lane.
void lane::on_offloaded(call& c) noexcept {
  SUPERSTEP_ASSERT(!c.is_offloaded && c.owner != nullptr);
  c.is_offloaded = true;
  ++c.owner->offloaded;
  each_above(*c.owner, [](const nested_in& at) { ++at.above->offloaded; });
}

/// Records that an offloaded body has ended, is suspended or was abandoned. Failed runs that wait
/// for the body check again.
void lane::on_returned(call& c) {
  if (!std::exchange(c.is_offloaded, false))
    return;
  const auto count = [this](run& r) {
    --r.offloaded;
    if (r.failure || r.to_parent)
      queue(r);
  };
  count(*c.owner);
  each_above(*c.owner, [&](const nested_in& at) { count(*at.above); });
}

/// Adds a run to the end of the ready queue.
void lane::queue(run& r) {
  if (r.queued || !r.live)
    return;
  r.queued = true;
  ready_.push_back({&r, nullptr, nullptr, r.generation});
}

/// Adds a run to the front of the ready queue, unless the queue has it already.
void lane::queue_first(run& r) {
  if (r.queued || !r.live)
    return;
  r.queued = true;
  ready_.push_front({&r, nullptr, nullptr, r.generation});
}

/// Adds a new run to the ready queue. A nested run comes before its parent's next task, so that the
/// order of nested runs depends on the graph only.
void lane::queue_new(run& r) {
  if (r.request.below)
    queue_first(r);
  else
    queue(r);
}

void lane::refuse_run(run_request&& request) noexcept {
  load_.fetch_sub(1, std::memory_order_relaxed);
  if (request.done)
    core_.threads().refuse(std::move(request));
}

void lane::begin_run(std::uint64_t number, run_request&& request) {
  if (stopping_) {
    refuse_run(std::move(request));
    return;
  }
  auto& r = take_run();
  r.number = number;
  r.live = true;
  r.paused = false;
  r.is_saving = false;
  r.is_cancelled = false;
  r.request = std::move(request);
  const auto& config = *r.request.config;
  const auto* const below = r.request.below.get();
  r.next_task = 0;
  r.offloaded = 0;
  r.draining_siblings = false;
  r.detached_tasks = 0;
  r.detached_tasks_max = config.max_concurrency.value_or(0);
  r.drained_for.clear();
  r.stats.steps = 0;
  r.stats.tasks = 0;
  r.node_actors.resize(r.request.table->nodes().size());
  r.coordinator = take_actor(actor_kind::coordinator, r);
  live_.emplace(number, &r);
  if (below != nullptr)
    r.link_below();
  set_deadline(r);
  r.is_fast_path = false;
  r.has_moved = true;
  r.stops_after = false;
  if (!begin_state(r) || !set_breakpoints(r))
    return;
  find_resources(r);
  const auto& set = config.thread;
  const auto& checkpointer = below != nullptr           ? below->checkpointer
                             : set && set->checkpointer ? set->checkpointer
                                                        : r.table().options().checkpointer;
  if (checkpointer && below == nullptr && config.thread_id.empty()) {
    end_run(r, make_run_error(errc::invalid_argument,
                              "the run of graph '" + r.table().name() +
                                  "' has a checkpointer: set run_config::thread_id"));
    return;
  }
  if (checkpointer || r.request.input.what() != detail::run_input::kind::writes) {
    r.thread = std::make_unique<thread_run>(
        checkpointer, thread_key{config.thread_id, below == nullptr ? std::string{} : below->ns},
        set ? set->durability : durability::async);
    r.keeps_writes = true;
    take_thread(r);
    return;
  }
  r.is_fast_path = r.stops.empty() && !r.keeps_writes && below == nullptr && !r.request.sink &&
                   !r.table().times_nodes() && !r.table().options().step_timeout;
  if (auto begun = begin(r.state, r.step, r.request.input.writes()); !begun) {
    end_run(r, make_run_error(begun.error().code, begun.error().text));
    return;
  }
  r.request.input = {};
  // without routers at the entry there is no user code to run
  if (r.table().entry().branches.empty()) {
    r.step.record(0, node_output{});
    r.next_task = 1;
  }
  queue_new(r);
}

void lane::find_resources(run& r) noexcept {
  const auto& own = r.table().options();
  const auto& set = r.request.config->thread;
  if (const auto& below = r.request.below) {
    r.memory = below->memory.get();
    r.cache = below->cache.get();
  } else {
    r.memory = (set && set->store ? set->store : own.store).get();
    r.cache = (set && set->cache ? set->cache : own.cache).get();
  }
  r.keeps_writes =
      r.cache != nullptr || r.streams(stream_mode::updates) || r.streams(stream_mode::tasks);
}

bool lane::set_breakpoints(run& r) {
  r.stops.clear();
  if (!r.request.config->thread && r.table().options().interrupt_before.empty() &&
      r.table().options().interrupt_after.empty())
    return true;
  auto unknown = std::string{};
  const auto add = [&](const std::vector<std::string>& names, std::uint8_t bit) {
    if (!names.empty())
      r.stops.resize(r.table().nodes().size());
    for (const auto& name : names) {
      const auto node = r.table().find(name);
      if (name != "*" && node == detail::program::no_node) {
        unknown = name;
        return false;
      }
      for (auto n = std::uint32_t{0}; n < r.stops.size(); ++n)
        if (n == node || name == "*")
          r.stops[n] |= bit;
    }
    return true;
  };
  const auto& set = r.request.config->thread;
  const auto& own = r.table().options();
  const auto is_root = !r.request.below;
  const auto& before =
      is_root && set && set->interrupt_before ? *set->interrupt_before : own.interrupt_before;
  const auto& after =
      is_root && set && set->interrupt_after ? *set->interrupt_after : own.interrupt_after;
  if (add(before, run::stop_before) && add(after, run::stop_after))
    return true;
  end_run(r, make_run_error(graph_errc::unknown_node,
                            "interrupt_before or interrupt_after: graph '" + r.table().name() +
                                "' has no node '" + unknown + '\''));
  return false;
}

void lane::cancel_run(std::uint64_t number, bool is_shutdown) {
  auto* const r = find_run(number);
  if (r == nullptr)
    return;
  auto why = make_run_error(graph_errc::cancelled,
                            run_in_text(*r->request.config) + " was cancelled in step " +
                                std::to_string(r->state.step()),
                            r->state.step());
  if (is_shutdown || apply_cancelled_below(*r, why))
    end_run(*r, std::move(why));
}

void lane::resume_run(std::uint64_t number) {
  if (auto* const told = find_run(number))
    resume_tree(*told);
}

/// Resumes a run that has waited for its reader, and its nested runs, which share the reader.
void lane::resume_tree(run& r) {
  if (std::exchange(r.paused, false))
    queue(r);
  for (auto* below = r.first_below; below != nullptr; below = below->next_below)
    resume_tree(*below);
}

/// Returns the next task to start: one that is due to start again, or the next task of the step.
std::uint32_t lane::take_task(run& r) noexcept {
  if (r.again.empty())
    return r.next_task++;
  const auto number = r.again.back();
  r.again.pop_back();
  return number;
}

/// Queues the run if its last detached call has ended, or if a task may now start.
void lane::reschedule_if_ready(run& r) {
  if (r.live && (r.detached_calls == 0 || r.has_to_start()))
    queue(r);
}

void lane::drain_run(std::uint64_t number, const std::string& reason) {
  if (auto* const r = find_run(number)) {
    r->drained_for = "Graph drained: " + reason;
    r->is_fast_path = false;
  }
}

/// Drives a run until it waits or ends, or has used its turn (engine_options::steps_per_turn).
lane::kept lane::drive(run& r) {
  if (r.paused || r.is_saving)
    return kept::yes;
  if (r.request.below)
    note_activity(r);
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
  for (auto steps = std::uint32_t{0}; steps < options_.steps_per_turn; ++steps) {
    while (r.live && r.has_to_start()) {
      const auto number = take_task(r);
      if (r.step.tasks[number].is_known)
        continue;
      if (start_task(r, number) == kept::no)
        return kept::no;
      // A nested graph that was just started runs first. A step with many tasks gives way to other
      // runs.
      if (std::exchange(r.has_nested, false) || is_long()) {
        queue(r);
        return kept::yes;
      }
      if (r.queued) // the task's actor was busy with a message: try again later
        return kept::yes;
    }
    if (!r.live)
      return kept::yes;
    if (r.failure || r.to_parent) {
      if (!settles(r))
        end_early(r);
      return kept::yes;
    }
    if (r.detached_calls > 0 || r.waiting > 0) {
      if (r.first_end_ns == 0 && !r.step.finished.empty())
        r.first_end_ns = now_ns();
      return kept::yes;
    }
    try { // one handler for all user code here: copies and moves of values of the user's types
      if (!barrier(r) || !advance_step(r))
        return kept::yes;
    } catch (...) {
      end_thrown(r);
      return kept::yes;
    }
  }
  queue(r);
  return kept::yes;
}

lane::kept lane::start_task(run& r, std::uint32_t number) {
  const auto& t = r.step.tasks[number];
  auto& c = *in_place_;
  if (t.node != detail::program::no_node) {
    const auto& node = r.table().node(t.node);
    learn_heavy(c); // the watcher's hint concerns the body that the lane ran before
    c.actor = t.is_push() ? take_actor(actor_kind::tool, r) : node_actor(r, t.node);
    auto& s = pooled_actor_of(c.actor);
    if (!s.try_acquire()) {
      if (!s.is_dead()) { // the actor is handling a message
        c.actor.reset();
        r.again.push_back(number);
        queue(r);
        return kept::yes;
      }
      // The actor was killed while it was idle. The notice of its death is already in the lane's
      // inbox.
      c.actor.reset();
      task_failed(r, number, {}, {}, error_of(r, number, graph_errc::actor_exited, nullptr));
      return kept::yes;
    }
    if (node.slowness.load(std::memory_order_relaxed) >= slow_node) {
      send_to_jobs(r, std::move(c.actor), number);
      return kept::yes;
    }
  }
  prepare_call(r, c, number);
  if (guarded(c, {}) == kept::no)
    return kept::no;
  after_in_place(r, c);
  return kept::yes;
}

run_error lane::error_of(run& r, std::uint32_t number, graph_errc code, std::exception_ptr cause) {
  const auto& t = r.step.tasks[number];
  auto error = run_error{};
  error.code = make_error_code(code);
  error.node = r.table().node(t.node).name;
  error.step = r.state.step();
  error.task = r.task_path(t);
  const auto where = "node '" + error.node + "' (task " + error.task + ", step " +
                     std::to_string(error.step) + ")";
  error.text = code == graph_errc::actor_exited
                   ? "the actor of " + where + " received an exit message"
                   : where + " failed: " + describe(cause);
  error.attempts = t.attempt;
  error.cause = std::move(cause);
  return error;
}

void lane::task_failed(run& r, std::uint32_t number, const body_input& input, node_output&& written,
                       run_error error) {
  if (will_retry(r, number, error))
    return;
  const auto& handler = r.table().node(r.step.tasks[number].node).options.on_failure;
  if (handler && input.table != nullptr) {
    try {
      if (auto instead = handler(input, error)) {
        task_ended(r, number, std::move(*instead));
        return;
      }
    } catch (...) { // the handler is user code; its exception is added to the run's error
      error.text += "; its on_failure function failed too: " + describe(std::current_exception());
    }
  }
  if (begin_handler(r, number, error))
    return;
  if (r.thread)
    tell_thread(r, number, &written, &error);
  r.is_single_task = false;
  if (!written.writes.empty())
    tell_update(r, number, written);
  if (r.streams(stream_mode::tasks))
    tell_finish(r, number, {}, &error);
  // Without max_concurrency, all tasks of a step start, even if one of them fails at once. If
  // several tasks fail, attempts and task path decide which failure becomes the run's error, so
  // that timing does not matter.
  const auto comes_first = [](const run_error& a, const run_error& b) {
    return std::tie(a.attempts, a.task) < std::tie(b.attempts, b.task);
  };
  if (!r.failure || comes_first(error, *r.failure))
    r.failure = std::make_unique<run_error>(std::move(error));
  if (r.next_task == r.step.tasks.size())
    queue(r);
}

/// Decides whether a failed run still waits for the siblings of the failed task (the other tasks of
/// the step). If so, and unless the end of a task will wake the run, also schedules the next check.
/// With a checkpointer, the run waits for all siblings, because their outputs are saved and a
/// resume does not repeat them. Without it, the outputs are lost. The run then waits only as long
/// as siblings make progress on the lane; suspended ones are cancelled. Offloaded ones get
/// patience_time, so that the outcome does not depend on whether the system delayed a short body.
bool lane::settles(run& r) {
  if (r.detached_calls == 0 && r.waiting == 0)
    return false;
  if (r.thread && r.thread->checkpointer())
    return true;
  if (r.offloaded > 0) {
    r.idle_polls = 0;
    if (!std::exchange(r.draining_siblings, true))
      set_alarm(alarm_kind::patience, now() + patience_time, r);
    return true;
  }
  if (std::exchange(r.seen_activity, r.activity) != r.activity)
    r.idle_polls = 0;
  else if (++r.idle_polls > idle_polls_max)
    return false;
  queue(r);
  return true;
}

/// Ends a run in which a task has failed or has returned a command to the parent graph. No output
/// of the step is applied.
void lane::end_early(run& r) {
  if (r.failure)
    end_run(r, std::move(*r.failure));
  else
    end_run(r, std::nullopt);
}

void lane::task_ended(run& r, std::uint32_t number, node_output&& output) {
  if (r.is_fast_path && !output.to_parent) {
    r.step.record(number, std::move(output));
    return;
  }
  if (output.to_parent) {
    // The command is removed from `output` in each case, because other tasks reuse `output`.
    auto command = std::exchange(output, {}).to_parent;
    if (!r.request.below) {
      auto error = error_of(r, number, graph_errc::no_parent, nullptr);
      error.text += "it returned a command to the parent graph, but the graph has no parent";
      task_failed(r, number, {}, {}, std::move(error));
      return;
    }
    if (!r.to_parent)
      r.to_parent = std::move(command);
    if (r.next_task == r.step.tasks.size())
      queue(r);
    return;
  }
  if (r.thread)
    tell_thread(r, number, &output, nullptr);
  if (!r.cache_keys.empty())
    cache_output(r, number, output);
  tell_update(r, number, output);
  if (r.streams(stream_mode::tasks))
    tell_finish(r, number, output, nullptr);
  r.step.record(number, std::move(output));
}

/// Records the interrupts of a task. After a resume the task runs again from its beginning.
void lane::on_task_interrupted(run& r, std::uint32_t number, conversation& talk) {
  if (r.thread)
    tell_thread(r, number, nullptr, nullptr);
  if (!talk.interrupts.empty())
    report_interrupts(r, number, talk.interrupts);
  if (!r.interrupts)
    r.interrupts.emplace();
  r.interrupts->insert(r.interrupts->end(), talk.interrupts.begin(), talk.interrupts.end());
}

namespace {

/// Closes the run's thread. With exit durability, this saves the last checkpoint and its records,
/// if later runs need them. Returns the run's error.
std::optional<run_error> close_thread(run& r, std::optional<run_error> error) {
  r.thread->close(!error && !r.interrupts, !r.request.below || r.request.below->is_persistent);
  if (!error && r.thread->failure())
    error = make_run_error(r.thread->failure()->code, r.thread->failure()->text);
  return error;
}

} // namespace

void lane::end_run(run& r, std::optional<run_error> error) {
  SUPERSTEP_ASSERT(r.live);
  SUPERSTEP_ASSERT(error || r.to_parent || r.detached_calls == 0);
  r.live = false;
  r.queued = false; // an entry in the ready queue has the old generation and will be skipped
  r.failure.reset();
  r.again.clear();
  r.waiting = 0;
  ++r.generation;
  note_activity(r);
  live_.erase(r.number);
  r.unlink_below();
  keep_answers(r);
  while (!r.open.empty())
    abandon(*r.open.back());
  drop_starts(r);
  if (!mail_.is_empty())
    mail_.drop(r);
  if (!r.late.empty())
    cache_late(r, std::exchange(r.late, {}));
  if (r.broken && !error)
    error = std::move(*r.broken);
  r.broken.reset();
  if (r.thread)
    error = close_thread(r, std::move(error));
  auto result =
      detail::raw_result{r.state.take_state(),       std::move(error),
                         std::exchange(r.stats, {}), std::exchange(r.interrupts, std::nullopt),
                         std::move(r.shown),         std::move(r.to_parent)};
  if (std::exchange(r.is_shown, false) && !result.shown)
    result.shown = result.state;
  for (auto& s : r.node_actors) {
    if (s)
      give_back(std::move(s));
  }
  give_back(std::move(r.coordinator));
  forget_run(r);
  auto done = std::exchange(r.request.done, nullptr);
  if (done && r.thread && !r.request.below)
    done = after_saving(*r.thread, std::move(done));
  r.request = {};
  r.state.clear();
  r.step.clear();
  r.first_end_ns = 0;
  r.held.clear();
  r.thread.reset();
  r.forget_step();
  if (!r.handled.empty())
    r.handled.clear();
  free_runs_.push_back(&r);
  load_.fetch_sub(1, std::memory_order_relaxed);
  if (done)
    call_back(done, std::move(result));
}

} // namespace superstep

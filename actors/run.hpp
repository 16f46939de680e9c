// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "guarded_sink.hpp"
#include "pooled_actor.hpp"
#include "runtime/step.hpp"
#include "runtime/thread_run.hpp"

#include <superstep/actors/detail/event_stream.hpp>
#include <superstep/actors/detail/run_event.hpp>
#include <superstep/runtime/detail/run_input.hpp>

#include <boost/unordered/unordered_flat_map.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

namespace superstep {

struct conversation;

/// The output of a task that will be stored in the cache of its node.
struct late_output {
  std::string scope;
  std::string key;
  task_output output;
  std::optional<std::chrono::milliseconds> ttl;
};

struct run;

/// Returns the error that ends a run after user code outside bodies has thrown `cause`. Examples of
/// such code are reducers, sinks and checkpointers. `whose` names the code in the error text.
[[nodiscard]] run_error error_of_user_code(std::string_view whose, std::exception_ptr cause,
                                           std::int64_t step);
/// Reports an exception that cannot fail a run, such as one thrown by the run's callback: writes
/// one line to standard error. `whose` names the code that threw.
void report_stray(std::string_view whose, const std::exception_ptr& cause) noexcept;
/// Calls the callback of a run. The callback is user code: if it throws, the exception is reported
/// with report_stray() and discarded.
void call_back(const std::function<void(detail::raw_result)>& done,
               detail::raw_result&& raw) noexcept;

/// Returns an error that ends a run and that no task caused, such as a deadline.
[[nodiscard]] run_error make_run_error(const std::error_code& code, std::string text,
                                       std::int64_t step = 0);

/// Returns the words for a run in an error text: `run 'ID'`, or `the run` if the id is empty.
[[nodiscard]] std::string run_in_text(const run_config& config);

/// Wraps the callback of a run with a checkpointer, so that it is called when all of the run's
/// checkpoints are durable or saving has failed.
[[nodiscard]] std::function<void(detail::raw_result)>
after_saving(thread_run& thread, std::function<void(detail::raw_result)> done);

/// Links a nested run to its parent, the run `above`. Run records are reused, so the link is valid
/// only while `above->generation` equals `above_generation`. The same rule applies to `caller`.
struct nested_in : nesting {
  using time_point = std::chrono::steady_clock::time_point;

  run* above = nullptr;
  std::uint32_t above_generation = 0;
  call* caller = nullptr;             ///< the call whose body started the nested run
  time_point due = time_point::max(); ///< deadline of that call; see runtime::deadline()
  std::uint32_t caller_generation = 0;
};

/// The data that a lane needs to start a run. The engine fills it from the arguments of invoke(),
/// stream() and submit(); a lane fills it for nested runs.
struct run_request {
  detail::program_ptr table;
  detail::run_input input;
  std::shared_ptr<const run_config> config;
  /// the link to the parent run; null unless the run is nested
  std::shared_ptr<const nested_in> below;
  std::function<void(detail::raw_result)> done;
  std::shared_ptr<detail::event_sink> sink;
  /// if set, it wraps the application's sink, and `sink` is this object
  std::shared_ptr<guarded_sink> guard;
  stream_mode modes = stream_mode::none;
};

/// The record of one live run: its state, its current super-step and its progress. Only its lane
/// uses it. A lane reuses its records; `generation` is incremented when a run ends, so that links
/// to the ended run can be recognised.
struct alignas(64) run {
  std::uint64_t number = 0;
  std::uint32_t generation = 0;
  bool live = false;
  bool queued = false; ///< has an entry in the lane's ready queue
  bool paused = false; ///< the run waits for the reader, because its stream is full
  /// the run waits until its checkpointer has granted the lease or saved a checkpoint
  bool is_saving = false;
  /// the run was cancelled while a job thread applied its step; it ends when the step is applied
  bool is_cancelled = false;
  run_request request;
  run_state state;
  super_step step;
  std::uint32_t next_task = 0;      ///< the next task of the step to start
  std::uint32_t detached_calls = 0; ///< calls whose bodies did not end in place; see `open`
  std::uint32_t detached_tasks = 0; ///< the same count without forked calls, for max_concurrency
  std::vector<call*> open;          ///< the records of the detached calls
  call* first_start = nullptr; ///< list of the forked calls that wait for their start, in order
  call* last_start = nullptr;
  run* first_below = nullptr; ///< list of the live nested runs that this run's tasks have started
  run* next_below = nullptr;  ///< the next nested run of the same parent
  run* prev_below = nullptr;
  pooled_actor_ptr coordinator; ///< the actor of the run; an exit message to it ends the run
  std::vector<pooled_actor_ptr> node_actors; ///< by node number; null until the node first runs
  run_stats stats;
  /// tasks to start again: retries that are due, error handlers, actors that were busy
  std::vector<std::uint32_t> again;
  std::uint32_t waiting = 0; ///< number of failed tasks whose next attempt is delayed
  /// the error of a failed task; ends the run when lane::settles() finds no more reason to wait
  std::unique_ptr<run_error> failure;
  /// the error of user code outside bodies; ends the run at the next ends_broken()
  std::unique_ptr<run_error> broken;
  /// The run's conversation thread. Set if the run has a checkpointer. Also set if its input is a
  /// command or empty, because only thread_run handles such inputs.
  std::unique_ptr<thread_run> thread;
  /// by node number: breakpoint bits; empty if there are no breakpoints
  std::vector<std::uint8_t> stops;
  state_view shown; ///< the state that the caller sees; see raw_result::shown
  /// Whether an output channel has changed, so that the result has a state to show. Without
  /// transient channels, `shown` stays null and the final state is shown.
  bool is_shown = false;
  /// Whether exactly one task of the step has to run. LangGraph runs a single task while it
  /// prepares the step and reports the task's events after the barrier. superstep reproduces the
  /// order: `held` delays the events. With a checkpointer, the task's output enters the cache only
  /// after the next step has looked up its own tasks; see `late`.
  bool is_single_task = false;
  /// Events of single tasks and of retried tasks. They are sent after the barrier, and dropped if
  /// the step fails.
  std::vector<detail::run_event> held;
  std::vector<late_output> late;   ///< outputs of this step that will be cached; see is_single_task
  std::uint32_t activity = 0;      ///< counts resumed calls and activity of nested runs
  std::uint32_t seen_activity = 0; ///< the value of `activity` at the last check of settles()
  std::uint32_t idle_polls = 0; ///< number of consecutive checks in which `activity` was unchanged
  /// Number of bodies of this run and of its nested runs that are offloaded: they run on threads
  /// that do not serve the lane, or are queued for them.
  std::uint32_t offloaded = 0;
  /// Whether the failed run waits a limited time for offloaded bodies; see lane::settles().
  bool draining_siblings = false;
  bool has_nested = false;  ///< the task that was started last has started a nested run
  bool stops_after = false; ///< the run stops at an interrupt_after breakpoint of the applied step
  /// Whether the run is not nested and has no stream, thread, cache, breakpoint, node or step
  /// timeout, running error handler or drain request. The lane then skips all code that serves
  /// them.
  bool is_fast_path = false;
  /// Whether a stream, the cache or the thread still reads a task's writes after the task's routers
  /// have run. Routers must then not move from the writes; see run_routers().
  bool keeps_writes = false;
  superstep::store* memory = nullptr; ///< the long-term store of the outermost run, or null
  write_cache* cache = nullptr;
  /// Whether breakpoints are active. False from a resume until a step is applied. Otherwise the
  /// resumed run would stop at the same breakpoint again.
  bool has_moved = false;
  /// Set if tasks of this step were interrupted: the run stops at the barrier with their
  /// interrupts.
  std::optional<std::vector<interrupt>> interrupts;
  /// the command to the parent graph that a task of this step has returned; it ends the run
  std::shared_ptr<const value> to_parent;
  /// The conversations of tasks whose body has ended or was abandoned, by task number. A further
  /// attempt continues with the same resume values.
  boost::unordered_flat_map<std::uint32_t, std::shared_ptr<conversation>> talks;
  /// The cache keys of tasks whose outputs will be cached, by task number.
  boost::unordered_flat_map<std::uint32_t, std::string> cache_keys;
  /// The errors of tasks whose error handlers run in their place, by task number.
  boost::unordered_flat_map<std::uint32_t, std::shared_ptr<const run_error>> handled;
  std::string drained_for; ///< unless empty: the run ends before its next step with this error text
  std::uint32_t detached_tasks_max = 0; ///< run_config::max_concurrency; 0 for no limit
  std::chrono::steady_clock::time_point due = nested_in::time_point::max(); ///< deadline of the run
  /// The deadline of the current super-step.
  std::chrono::steady_clock::time_point step_due = nested_in::time_point::max();
  bool has_limits = false; ///< its calls have deadlines, from the run, the step or their nodes
  /// The time at which the lane found that a task of the step had ended while others had not; 0 if
  /// it has found none. The barrier reports the time since then as run_stats::barrier_wait_ns.
  std::uint64_t first_end_ns = 0;

  static constexpr std::uint8_t stop_before = 1;
  static constexpr std::uint8_t stop_after = 2;

  [[nodiscard]] const detail::program& table() const noexcept { return state.table(); }
  [[nodiscard]] bool streams(stream_mode m) const noexcept { return includes(request.modes, m); }
  /// Whether the run has a task to start and may start it. With max_concurrency, a task may start
  /// if the limit is not reached and no task has failed or returned a command to the parent graph.
  [[nodiscard]] bool has_to_start() const noexcept {
    return (next_task < step.tasks.size() || !again.empty()) &&
           (detached_tasks_max == 0 ||
            (detached_tasks < detached_tasks_max && !failure && !to_parent));
  }
  /// Adds this run to the list of its parent's nested runs, or removes it.
  void link_below() noexcept;
  void unlink_below() noexcept;
  /// Returns the interrupts of a task and the resume values that it got, also in earlier attempts.
  /// @pre the run has a thread, or a parent run with resume values or effect records
  [[nodiscard]] std::shared_ptr<conversation> conversation_of(std::uint32_t of);
  void keep_talk(std::uint32_t of, std::shared_ptr<conversation> talk);
  /// Stores the resume values of an abandoned call for the next attempt of its task. The abandoned
  /// body may still run; it gets no further values.
  void keep_abandoned_talk(std::uint32_t of, conversation& talk);
  [[nodiscard]] const conversation* find_talk(std::uint32_t of) const noexcept;
  /// Clears the conversations and cache keys of a finished step.
  void forget_step() noexcept {
    if (!talks.empty())
      talks.clear();
    if (!cache_keys.empty())
      cache_keys.clear();
  }
  [[nodiscard]] std::string task_path(const step_task& t) const {
    const auto& name = table().node(t.node).name;
    return t.is_push() ? name + '#' + std::to_string(t.push_index) : name;
  }
};

/// Calls f for each ancestor of a nested run, from its parent to the outermost run. Stops early at
/// a run that has ended.
template <class F>
void each_above(const run& r, F f) {
  for (const auto* at = r.request.below.get();
       at != nullptr && at->above->generation == at->above_generation;
       at = at->above->request.below.get())
    f(*at);
}

} // namespace superstep

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

/// An output that is yet to be stored in a cache.
struct late_output {
  std::string scope;
  std::string key;
  task_output output;
  std::optional<std::chrono::milliseconds> ttl;
};

struct run;

/// Returns the error of a run for an exception of user code outside bodies. `whose` names the code.
[[nodiscard]] run_error error_of_user_code(std::string_view whose, std::exception_ptr cause,
                                           std::int64_t step);
/// Reports an exception of user code that belongs to no run: one line on standard error.
void report_stray(std::string_view whose, const std::exception_ptr& cause) noexcept;
/// Calls the callback of a run. It is user code: its exceptions are reported and discarded.
void call_back(const std::function<void(detail::raw_result)>& done,
               detail::raw_result&& raw) noexcept;

/// Returns an error that ends a run and does not belong to a task.
[[nodiscard]] run_error make_run_error(const std::error_code& code, std::string text,
                                       std::int64_t step = 0);

/// The parent of a nested run: the run `above`, as long as it has this generation.
struct nested_in : nesting {
  using time_point = std::chrono::steady_clock::time_point;

  run* above = nullptr;
  std::uint32_t above_generation = 0;
  call* caller = nullptr;             ///< the call whose body started it
  time_point due = time_point::max(); ///< of that call; see runtime::deadline()
  std::uint32_t caller_generation = 0;
};

/// A run to be started, as the engine's functions pass it to a lane.
struct run_request {
  detail::program_ptr table;
  detail::run_input input;
  std::shared_ptr<const run_config> config;
  std::shared_ptr<const nested_in> below; ///< for a nested run
  std::function<void(detail::raw_result)> done;
  std::shared_ptr<detail::event_sink> sink;
  std::shared_ptr<guarded_sink> guard; ///< if set, `sink` is this object or forwards to it
  stream_mode modes = stream_mode::none;
};

/// The coordinator's data of one live run. Owned and used by its lane only. Records are reused;
/// `generation` distinguishes the runs.
struct alignas(64) run {
  std::uint64_t number = 0;
  std::uint32_t generation = 0;
  bool live = false;
  bool queued = false;    ///< has an entry in the lane's ready queue
  bool paused = false;    ///< waiting for the reader of its stream
  bool is_saving = false; ///< waiting for its checkpointer
  run_request request;
  run_state state;
  super_step step;
  std::uint32_t next_task = 0;      ///< the next task of the step to start
  std::uint32_t detached_calls = 0; ///< number of detached calls
  std::uint32_t detached_tasks = 0; ///< detached calls of tasks, without forked calls
  std::vector<call*> open;          ///< the detached calls
  run* first_below = nullptr;       ///< nested runs of its tasks that have not ended
  run* next_below = nullptr;        ///< the next nested run of the same parent
  run* prev_below = nullptr;
  pooled_actor_ptr coordinator;
  std::vector<pooled_actor_ptr> node_actors; ///< by node; created by the first activation
  run_stats stats;
  std::vector<std::uint32_t> again;   ///< tasks whose next attempt is due
  std::uint32_t waiting = 0;          ///< number of tasks whose next attempt is not due yet
  std::unique_ptr<run_error> failure; ///< ends the run once the step's last task has started
  std::unique_ptr<run_error> broken;  ///< user code outside a body threw; ends the run soon
  /// for a run with a checkpointer, or one that starts from a command or nothing
  std::unique_ptr<thread_run> thread;
  std::vector<std::uint8_t> stops; ///< by node: breakpoint bits; empty: none
  state_view shown;                ///< see raw_result::shown
  /// an output channel has changed; without transient channels the current state shows it
  bool is_shown = false;
  /// Only one task of the step runs, and its events are delayed. LangGraph runs such a task where
  /// it prepares steps. Its events are therefore sent after the barrier. With a checkpointer, its
  /// output is cached only after the next step has looked up its own.
  bool is_single_task = false;
  std::vector<detail::run_event>
      held; ///< events of such tasks and of retried ones; dropped if the step fails
  std::vector<late_output> late;
  std::uint32_t activity = 0;      ///< counts resumptions of its calls and nested runs
  std::uint32_t seen_activity = 0; ///< `activity` when a failed step last checked it
  std::uint32_t idle_polls = 0;    ///< number of checks without new activity
  std::uint32_t offloaded = 0; ///< bodies of this run and of nested ones that run on other threads
  bool draining_siblings = false; ///< it has failed and gives these bodies some time to end
  bool has_nested = false;        ///< the task started last has started a nested run
  bool stops_after = false;       ///< the step that was applied has an interrupt_after breakpoint
  /// The fast path: no stream, no checkpointer, no breakpoints or timeouts, no error handler
  /// running.
  bool is_fast_path = false;
  bool keeps_writes = false; ///< the writes of tasks are read again after their branches
  superstep::store* memory = nullptr;
  write_cache* cache = nullptr;
  bool has_moved = false; ///< a step was applied since the last breakpoint
  /// the interrupts of this step's tasks; the run stops after the step
  std::optional<std::vector<interrupt>> interrupts;
  std::shared_ptr<const value> to_parent;
  /// Conversations of tasks that are retried, and keys of outputs to be cached, by task.
  boost::unordered_flat_map<std::uint32_t, std::shared_ptr<conversation>> talks;
  boost::unordered_flat_map<std::uint32_t, std::string> cache_keys;
  /// Errors of tasks whose error handlers run in their place, by task.
  boost::unordered_flat_map<std::uint32_t, std::shared_ptr<const run_error>> handled;
  std::string drained_for; ///< if set, the run stops before its next step, with this text
  std::uint32_t detached_tasks_max = 0; ///< run_config::max_concurrency; 0: none
  std::chrono::steady_clock::time_point due = nested_in::time_point::max(); ///< of the whole run
  std::chrono::steady_clock::time_point step_due = nested_in::time_point::max(); ///< of its step
  bool has_limits = false; ///< its calls have deadlines, from the run, the step or their nodes
  std::uint64_t first_end_ns = 0; ///< when the step's first task ended while others were detached

  static constexpr std::uint8_t stop_before = 1;
  static constexpr std::uint8_t stop_after = 2;

  [[nodiscard]] const detail::program& table() const noexcept { return state.table(); }
  [[nodiscard]] bool streams(stream_mode m) const noexcept { return includes(request.modes, m); }
  /// Whether a task may start now: one is left, and max_concurrency is not reached.
  [[nodiscard]] bool has_to_start() const noexcept {
    return (next_task < step.tasks.size() || !again.empty()) &&
           (detached_tasks_max == 0 ||
            (detached_tasks < detached_tasks_max && !failure && !to_parent));
  }
  /// Adds the run to, or removes it from, the nested runs of its parent.
  void link_below() noexcept;
  void unlink_below() noexcept;
  /// Returns the conversation of a task so far. @pre thread, or a parent run with resume values or
  /// effect records
  [[nodiscard]] std::shared_ptr<conversation> conversation_of(std::uint32_t of);
  void keep_talk(std::uint32_t of, std::shared_ptr<conversation> talk);
  /// Stores the resume values of an abandoned task for its next attempt. The body may still run and
  /// gets no further values.
  void keep_abandoned_talk(std::uint32_t of, conversation& talk);
  [[nodiscard]] const conversation* find_talk(std::uint32_t of) const noexcept;
  /// Clears the data of a finished step.
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

/// Calls f with the link from a nested run to its parent, then with the parent's link, up to the
/// outermost run or to one that has ended.
template <class F>
void each_above(const run& r, F f) {
  for (const auto* at = r.request.below.get();
       at != nullptr && at->above->generation == at->above_generation;
       at = at->above->request.below.get())
    f(*at);
}

} // namespace superstep

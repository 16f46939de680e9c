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

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

namespace superstep {

struct conversation;

/// An output on its way to a cache.
struct late_output {
  std::string scope;
  std::string key;
  task_output output;
  std::optional<std::chrono::milliseconds> ttl;
};

struct run;

/// Makes a run's error from an exception of user code outside bodies. `whose` names the code.
[[nodiscard]] run_error error_of_user_code(std::string_view whose, std::exception_ptr cause,
                                           std::int64_t step);
/// Reports what user code threw where no run can: one line on standard error.
void report_stray(std::string_view whose, const std::exception_ptr& cause) noexcept;
/// Calls what waits for the end of a run. It is user code: what it throws is reported and dropped.
void call_back(const std::function<void(detail::raw_result)>& done,
               detail::raw_result&& raw) noexcept;

/// What ends a run, where no task is to blame.
[[nodiscard]] run_error make_run_error(const std::error_code& code, std::string text,
                                       std::int64_t step = 0);

/// Where a nested run hangs: below this run, while that has this generation.
struct nested_in : nesting {
  run* above = nullptr;
  std::uint32_t above_generation = 0;
  call* caller = nullptr; ///< whose body started it
  std::uint32_t caller_generation = 0;
};

/// What somebody asked an engine to run.
struct run_request {
  detail::program_ptr table;
  detail::run_input input;
  std::shared_ptr<const run_config> config;
  std::shared_ptr<const nested_in> below; ///< of a nested run
  std::function<void(detail::raw_result)> done;
  std::shared_ptr<detail::event_sink> sink;
  std::shared_ptr<guarded_sink> guard; ///< set: `sink` is it, or passes events on to it
  stream_mode modes = stream_mode::none;
};

/// One live run: the coordinator's data. Owned by its lane, which alone touches it. Records are
/// reused; `generation` distinguishes the assignments.
struct alignas(64) run {
  std::uint64_t number = 0;
  std::uint32_t generation = 0;
  bool live = false;
  bool queued = false;    ///< stands in the lane's queue
  bool paused = false;    ///< waits for the reader of its stream
  bool is_saving = false; ///< waits for its checkpointer
  run_request request;
  run_state state;
  super_step step;
  std::uint32_t next_task = 0;  ///< the next task of the step to be started
  std::uint32_t detached_calls = 0; ///< calls of this run that are not in place
  std::uint32_t detached_tasks = 0; ///< those of them that no other call has forked
  std::vector<call*> open;      ///< these calls
  run* first_below = nullptr; ///< runs below its tasks that have not ended
  run* next_below = nullptr;  ///< the next one below the same run
  run* prev_below = nullptr;
  pooled_actor_ptr coordinator;
  std::vector<pooled_actor_ptr> node_actors; ///< by node; made when first activated
  run_stats stats;
  std::vector<std::uint32_t> again;   ///< tasks whose next attempt is due
  std::uint32_t waiting = 0;          ///< tasks whose next attempt is not due yet
  std::unique_ptr<run_error> failure; ///< ends the run once the step's last task has begun
  std::unique_ptr<run_error> broken;  ///< user code outside a body threw: ends the run soon
  std::unique_ptr<thread_run> thread; ///< of a run that is kept, or does not start from an input
  std::vector<std::uint8_t> stops;    ///< by node: breakpoint bits; empty: none
  state_view shown;                   ///< see raw_result::shown
  bool is_shown = false;              ///< something was; without transient channels: the state
  /// One task of the step is run, and nothing of it is told at once. As in the reference, which
  /// runs such a task where it prepares steps: its events come when the barrier has held, and a run
  /// that is kept has cached its output only after the next step has looked.
  bool is_single_task = false;
  std::vector<detail::run_event>
      held; ///< also of tasks that were tried again: a failed step drops them
  std::vector<late_output> late;
  std::uint32_t activity = 0;      ///< counts what its calls and nested runs do
  std::uint32_t seen_activity = 0; ///< what a failed step had seen of it
  std::uint32_t idle_polls = 0;    ///< how often it saw nothing new
  std::uint32_t offloaded = 0;     ///< bodies of it and of runs below it on other threads
  bool draining_siblings = false;  ///< it has failed and gives these a while to end
  bool has_nested = false;         ///< the task started last has begun a run below it
  bool stops_after = false;        ///< the step that was applied has a breakpoint behind it
  /// The short way: nobody streams or keeps it, nothing stops or times it, no handler runs in it.
  bool is_fast_path = false;
  bool keeps_writes = false; ///< what each task wrote is wanted after its branches
  superstep::store* memory = nullptr;
  write_cache* cache = nullptr;
  bool has_moved = false;                      ///< something has changed since the last breakpoint
  /// by tasks of this step: the run stops after it
  std::optional<std::vector<interrupt>> interrupts;
  std::shared_ptr<const value> to_parent;
  /// Conversations of tasks that are tried again, and keys of outputs to be cached, by task.
  boost::unordered_flat_map<std::uint32_t, std::shared_ptr<conversation>> talks;
  boost::unordered_flat_map<std::uint32_t, std::string> cache_keys;
  /// Why tasks failed whose error handlers run in their places.
  boost::unordered_flat_map<std::uint32_t, std::shared_ptr<const run_error>> handled;
  std::string drained_for;          ///< set: it stops before its next step
  std::uint32_t detached_tasks_max = 0; ///< run_config::max_concurrency; 0: none
  std::uint64_t first_end_ns = 0;   ///< of the step: when its first task ended while others flew

  static constexpr std::uint8_t stop_before = 1;
  static constexpr std::uint8_t stop_after = 2;

  [[nodiscard]] const detail::program& table() const noexcept { return state.table(); }
  [[nodiscard]] bool streams(stream_mode m) const noexcept { return includes(request.modes, m); }
  /// Whether a task may be started now: one is left, and not too many are under way.
  [[nodiscard]] bool has_to_start() const noexcept {
    return (next_task < step.tasks.size() || !again.empty()) &&
           (detached_tasks_max == 0 ||
            (detached_tasks < detached_tasks_max && !failure && !to_parent));
  }
  /// Adds itself to, or takes itself from, the runs below another.
  void link_below() noexcept;
  void unlink_below() noexcept;
  /// What the task has asked and been told so far. @pre thread
  [[nodiscard]] std::shared_ptr<conversation> conversation_of(std::uint32_t of);
  void keep_talk(std::uint32_t of, std::shared_ptr<conversation> talk);
  /// Keeps the answers of an abandoned task for its next attempt. Its body may still run and gets
  /// no further answers.
  void keep_abandoned_talk(std::uint32_t of, conversation& talk);
  [[nodiscard]] const conversation* find_talk(std::uint32_t of) const noexcept;
  /// Forgets what belonged to a step that is over.
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

/// Calls f with the place of a run below another, and with that one's, up to the outermost run or
/// to one that has ended.
template <class F>
void each_above(const run& r, F f) {
  for (const auto* at = r.request.below.get();
       at != nullptr && at->above->generation == at->above_generation;
       at = at->above->request.below.get())
    f(*at);
}

} // namespace superstep

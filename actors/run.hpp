// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "guarded_sink.hpp"
#include "phases.hpp"
#include "ready_list.hpp"
#include "runtime/step.hpp"
#include "threads/thread_run.hpp"
#include "timer_heap.hpp"

#include <superstep/actors/detail/event_stream.hpp>
#include <superstep/actors/detail/run_event.hpp>
#include <superstep/runtime/detail/run_input.hpp>

#include <boost/unordered/unordered_flat_map.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

namespace superstep {

struct call;
struct task_interrupts;
struct run;
class saved_result;

/// The output of a task that will be stored in the cache of its node.
struct late_output {
  std::string scope;
  std::string key;
  task_output output;
  std::optional<std::chrono::milliseconds> ttl;
};

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

/// The arguments of a run that its record keeps until the run ends.
struct run_arguments {
  std::shared_ptr<const run_config> config;
  /// the link to the parent run; null unless the run is nested
  std::shared_ptr<const nested_in> below;
  std::function<void(detail::raw_result)> done;
  std::shared_ptr<detail::event_sink> sink;
  stream_mode modes = stream_mode::none;
  bool is_guarded = false; ///< whether `sink` is a guarded_sink

  /// Returns the exception that the application's sink has thrown, or null.
  [[nodiscard]] std::exception_ptr sink_failure() const {
    return is_guarded ? static_cast<guarded_sink&>(*sink).failure() : nullptr;
  }
  /// Releases everything. Cheaper than an assignment when a run has taken most members already.
  void clear() noexcept {
    config.reset();
    below.reset();
    done = nullptr;
    sink.reset();
    modes = stream_mode::none;
    is_guarded = false;
  }
};

/// The data that a lane needs to start a run. The engine fills it from the arguments of invoke(),
/// stream() and submit(); a lane fills it for nested runs.
struct run_request : run_arguments {
  detail::program_ptr table;
  detail::run_input input;
};

/// The properties of a run that are decided when it starts, as bits of run::traits.
enum class run_trait : std::uint8_t {
  /// The run is not nested and has no stream, thread, cache, breakpoint, node or step timeout,
  /// running error handler or drain request. All code that serves them is then skipped. Cleared by
  /// run::leave_fast_path().
  fast_path = 1,
  /// A stream, the cache or the thread still reads a task's writes after the task's routers have
  /// run. Routers must then not move from the writes; see run_routers().
  keeps_writes = 2,
  /// Its calls have deadlines, from the run, the step or their nodes.
  has_limits = 4,
  /// There was no memory to store an error in run_extras::broken; set by note_broken().
  no_memory = 8,
};

/// The state that a run shows to its caller; see raw_result::shown.
enum class shown_state : std::uint8_t {
  none,        ///< no output channel has changed
  final_state, ///< the state at the end of the run, because the program has no transient channels
  kept,        ///< run_extras::shown
};

/// When the events of a step's tasks are sent.
enum class task_events : std::uint8_t {
  at_once,
  /// Exactly one task of the step has to run. LangGraph runs a single task while it prepares the
  /// step and reports the task's events after the barrier. superstep reproduces the order:
  /// `run_extras::held` delays the events. With a checkpointer, the task's output enters the cache
  /// only after the next step has looked up its own tasks; see `run_extras::late`.
  after_barrier,
};

/// The timer of the next attempt of a task. It is one of run_extras::retries.
struct retry_timer : timer {
  retry_timer(run& r, std::uint32_t n, std::size_t i) noexcept;
  std::uint32_t task;
  std::size_t index; ///< index in run_extras::retries
};

/// The parts of a run that most runs do not need, or need only while they do something unusual.
struct run_extras {
  using time_point = std::chrono::steady_clock::time_point;

  explicit run_extras(run* of) noexcept
      : turn_of_forks{ready_kind::start_fork, of}, step_timer{timer_kind::step_limit, of},
        settle_timer{timer_kind::settle, of} {}
  /// Makes a run the owner of the entries, because the extras have moved to its record.
  /// @pre no entry is listed or set
  void belong_to(run& of) noexcept;

  ready_entry turn_of_forks; ///< listed while `starts` is not empty
  ready_list starts;         ///< the forked calls that wait for their start
  /// the input of a run that waits for the lease on its thread
  detail::run_input input;
  /// the failed tasks whose next attempt is delayed
  std::vector<std::unique_ptr<retry_timer>> retries;
  timer step_timer;
  timer settle_timer;
  time_point step_due = time_point::max(); ///< the deadline of the current super-step
  /// Delivers the result when the run's checkpoints are durable. Set for outermost runs with a
  /// checkpointer.
  std::shared_ptr<saved_result> saved;
  /// by node number: breakpoint bits; empty if there are no breakpoints
  std::vector<std::uint8_t> stops;
  state_view shown; ///< the state that the caller sees, if run::shows is shown_state::kept
  /// Events of single tasks and of retried tasks. They are sent after the barrier, and dropped if
  /// the step fails.
  std::vector<detail::run_event> held;
  std::vector<late_output> late; ///< outputs of this step that will be cached; see task_events
  /// Set if tasks of this step were interrupted: the run stops at the barrier with their
  /// interrupts. The barrier puts them into the order of the tasks.
  std::optional<std::vector<interrupt>> interrupts;
  std::vector<std::uint32_t> interrupted_tasks; ///< the number of the task of each interrupt
  /// the command to the parent graph that a task of this step has returned; it ends the run
  std::shared_ptr<const value> to_parent;
  /// The interrupts of tasks whose body has ended or was abandoned, by task number. A further
  /// attempt continues with the same resume values.
  boost::unordered_flat_map<std::uint32_t, std::shared_ptr<task_interrupts>> interrupts_by_task;
  /// The cache keys of tasks whose outputs will be cached, by task number.
  boost::unordered_flat_map<std::uint32_t, std::string> cache_keys;
  /// The errors of tasks whose error handlers run in their place, by task number.
  boost::unordered_flat_map<std::uint32_t, std::shared_ptr<const run_error>> handled;
  std::string drained_for; ///< unless empty: the run ends before its next step with this error text
  /// the error of a failed task; ends the run when the coordinator finds no more reason to wait
  std::unique_ptr<run_error> failure;
  /// the error of user code outside bodies; ends the run at the next step boundary
  std::unique_ptr<run_error> broken;
  std::unique_ptr<run_error> cancelled; ///< in phase `cancelling`: the error of the cancellation
};

/// The counters of a run that its result reports; see run_stats.
struct run_counters {
  std::uint64_t steps = 0;
  std::uint64_t tasks = 0;
  detail::thin_list<std::uint64_t> barrier_waits_ns;

  /// Returns the counters as the caller of the run gets them; without the waits if memory is short.
  [[nodiscard]] run_stats stats() const noexcept {
    auto out = run_stats{steps, tasks, {}};
    try {
      out.barrier_wait_ns.assign(barrier_waits_ns.begin(), barrier_waits_ns.end());
    } catch (...) { // the result is more important than this part of it
      out.barrier_wait_ns.clear();
    }
    return out;
  }
};

/// The part of a run that moves with it to another lane, which happens at the start of a
/// super-step; see run_sharing. All other members of `run` are empty then, or belong to its record.
struct run_contents {
  using time_point = std::chrono::steady_clock::time_point;

  std::uint64_t number = 0;
  std::uint8_t traits = 0; ///< bits of run_trait
  task_events events_of_tasks = task_events::at_once;
  shown_state shows = shown_state::none;
  /// The breakpoints at which the run may stop: bits of `stops`. 0 from a resume until a step is
  /// applied. Otherwise the resumed run would stop at the same breakpoint again.
  std::uint8_t active_stops = 0;
  std::uint32_t next_task = 0; ///< the next task of the step to start
  run_arguments request;
  run_state state;
  super_step step;
  run_counters counters;
  /// The run's thread. Set if the run has a checkpointer. Also set if its input is a
  /// command or empty, because only thread_run handles such inputs.
  std::unique_ptr<thread_run> thread;
  superstep::store* memory = nullptr; ///< the long-term store of the outermost run, or null
  write_cache* cache = nullptr;
  time_point due = time_point::max(); ///< deadline of the run
  /// The extras of the run; null until run::more() is called.
  std::unique_ptr<run_extras> own_extras;
  std::uint32_t detached_tasks_max = 0; ///< run_config::max_concurrency; 0 for no limit
};

/// The record of one live run: its state, its current super-step and its progress. The coordinator
/// of a lane changes it. Records are reused; `generation` is incremented when a run ends, so that
/// links to the ended run can be recognised.
struct run : run_contents {
  run() = default;
  run(const run&) = delete;
  run& operator=(const run&) = delete;
  virtual ~run() = default; // drivers add members; see coordinator_host::make_run()

  std::uint32_t generation = 0;
  phase_cell<run_phase> phase;
  std::uint32_t detached_tasks = 0; ///< detached calls that were not forked, for max_concurrency
  ready_entry turn{ready_kind::drive, this}; ///< the run's next turn
  run* root = this;              ///< the outermost run that this run is part of, or the run itself
  ready_group ready_here;        ///< used by outermost runs; see group()
  detail::thin_list<call*> open; ///< the records of the detached calls
  run* next_child = nullptr; ///< the next nested run of the same call; see call_extras::first_child
  run* prev_child = nullptr;
  /// tasks to start again: retries that are due, error handlers
  detail::thin_list<std::uint32_t> again;
  timer deadline_timer{timer_kind::deadline, this};
  /// The time at which the lane found that a task of the step had ended while others had not; 0 if
  /// it has found none. The barrier reports the time since then as run_stats::barrier_wait_ns.
  std::uint64_t first_end_ns = 0;
  std::uint32_t activity = 0;      ///< counts resumed calls and activity of nested runs
  std::uint32_t seen_activity = 0; ///< the value of `activity` at the last check of a failed step
  std::uint32_t idle_polls = 0; ///< number of consecutive checks in which `activity` was unchanged
  /// Number of bodies of this run and of its nested runs that are offloaded; see
  /// call::is_offloaded().
  std::uint32_t offloaded = 0;
  /// Number of runs among this run and its nested runs whose step a job thread applies.
  std::uint32_t barriers_offloaded = 0;

  static constexpr std::uint8_t stop_before = 1;
  static constexpr std::uint8_t stop_after = 2;

  /// Returns the extras of the run for reading; empty ones if the run has none.
  [[nodiscard]] const run_extras& extras() const noexcept {
    return own_extras ? *own_extras : no_extras;
  }
  /// Returns the extras of the run for writing.
  [[nodiscard]] run_extras& more() {
    if (!own_extras)
      own_extras = std::make_unique<run_extras>(this);
    return *own_extras;
  }
  /// Moves the error of a failed task out of the run; nothing if no task has failed.
  [[nodiscard]] std::optional<run_error> take_failure() noexcept {
    return extras().failure ? std::optional{std::move(*own_extras->failure)} : std::nullopt;
  }
  /// The ready entries of the outermost run, among which are those of this run.
  [[nodiscard]] ready_group& group() const noexcept { return root->ready_here; }
  [[nodiscard]] const detail::program& table() const noexcept { return state.table(); }
  [[nodiscard]] bool streams(stream_mode m) const noexcept { return includes(request.modes, m); }
  [[nodiscard]] bool is(run_trait t) const noexcept {
    return (traits & static_cast<std::uint8_t>(t)) != 0;
  }
  void set(run_trait t) noexcept {
    traits = static_cast<std::uint8_t>(traits | static_cast<unsigned>(t));
  }
  [[nodiscard]] bool is_fast_path() const noexcept { return is(run_trait::fast_path); }
  void leave_fast_path() noexcept {
    traits = static_cast<std::uint8_t>(traits & ~static_cast<unsigned>(run_trait::fast_path));
  }
  /// Whether the record belongs to a run that has not ended.
  [[nodiscard]] bool is_live() const noexcept {
    return phase != run_phase::idle && phase != run_phase::ending;
  }
  /// Whether the run is in a step whose tasks run.
  [[nodiscard]] bool is_in_step() const noexcept {
    return phase == run_phase::running || phase == run_phase::settling;
  }
  /// Whether the run has a task to start and may start it. With max_concurrency, a task may start
  /// if the limit is not reached and no task has failed or returned a command to the parent graph.
  [[nodiscard]] bool has_to_start() const noexcept {
    return (next_task < step.tasks.size() || !again.empty()) &&
           (detached_tasks_max == 0 ||
            (detached_tasks < detached_tasks_max && phase != run_phase::settling));
  }
  /// Whether no task is active or waits for its next attempt.
  [[nodiscard]] bool is_step_over() const noexcept {
    return open.empty() && extras().retries.empty();
  }
  /// Returns the interrupts of a task and the resume values that it got, also in earlier attempts.
  /// @pre the run has a thread, or a parent run with resume values or effect records
  [[nodiscard]] std::shared_ptr<task_interrupts> interrupts_of(std::uint32_t of);
  void keep_interrupts(std::uint32_t of, std::shared_ptr<task_interrupts> asked);
  /// Stores the resume values of an abandoned call for the next attempt of its task. The abandoned
  /// body may still run; it gets no further values.
  void keep_abandoned_interrupts(std::uint32_t of, task_interrupts& asked);
  [[nodiscard]] const task_interrupts* find_interrupts(std::uint32_t of) const noexcept;
  /// Clears the interrupts and cache keys of a finished step.
  void forget_step() noexcept {
    if (!own_extras)
      return;
    own_extras->interrupts_by_task.clear();
    own_extras->cache_keys.clear();
  }
  [[nodiscard]] std::string task_path(const step_task& t) const {
    const auto& name = table().node(t.node).name;
    return t.is_push() ? name + '#' + std::to_string(t.push_index) : name;
  }

private:
  static const run_extras no_extras;
};

/// Returns the error of a run that was cancelled. If memory is short, its text is `cancelled`.
[[nodiscard]] run_error cancelled_error(const run& r) noexcept;

inline retry_timer::retry_timer(run& r, std::uint32_t n, std::size_t i) noexcept
    : timer{timer_kind::retry, &r}, task{n}, index{i} {}

/// Returns a resource that an outermost run uses, for example its store: that of its thread
/// options, or else that of its graph. Null if neither is set.
template <class T>
const std::shared_ptr<T>& own_resource(const run& r, std::shared_ptr<T> thread_options::*of_thread,
                                       std::shared_ptr<T> compile_options::*of_graph) noexcept {
  const auto& set = r.request.config->thread;
  return set && (*set).*of_thread ? (*set).*of_thread : r.table().options().*of_graph;
}

/// Calls f for each ancestor of a nested run, from its parent to the outermost run. Stops early at
/// a run that has ended. Takes time linear in the depth of the nesting, which the namespace of the
/// run does as well.
template <class F>
void each_above(const run& r, F f) {
  for (const auto* at = r.request.below.get();
       at != nullptr && at->above->generation == at->above_generation;
       at = at->above->request.below.get())
    f(*at);
}

} // namespace superstep

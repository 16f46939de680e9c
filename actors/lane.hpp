// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "call.hpp"
#include "inbox.hpp"
#include "run.hpp"
#include "run_mail.hpp"

#include <superstep/actors/engine.hpp>
#include <superstep/base/detail/executor.hpp>

#include <boost/unordered/unordered_flat_map.hpp>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <random>
#include <variant>
#include <vector>

namespace superstep {

namespace detail {
class engine_core;
} // namespace detail

class worker;

/// The executor of an engine's runs. By default there is one lane per core. A lane owns its runs,
/// their calls, actors and alarms. It needs no locks for them, because only one thread at a time
/// serves it.
///
/// A body is user code: the function of a node, or work that it has forked (when_all), such as a
/// tool call. A call is one execution of a body. A lane executes a body in one of four ways:
/// - In place: the lane's thread calls the body, and the body ends without suspending or blocking.
///   Most calls end so. All of them share one call record (`in_place_`).
/// - Suspended: the body awaits something. The call is detached: it keeps its record, and the lane
///   continues with other work. When the awaited operation has ended, the lane resumes the body.
/// - Taken over: the body blocks or computes for long and keeps its thread. The watcher gives the
///   lane to another thread, which detaches the call and continues with the run's next task.
/// - As a job: the body's node is known to be slow. The call is detached at once, and a job thread
///   of the pool runs the body.
///
/// In the last two cases the body is offloaded: its thread does not serve the lane. When the body
/// ends or suspends, that thread posts the call back to the lane.
///
/// Invariant: no stack frame between serve() and a body owns a resource. The reason is that a
/// thread whose lane was taken over returns through these frames while another thread already
/// serves the lane. The position of a run is therefore stored as data (run, next task, call
/// record). The old thread finds that it has lost the guard and returns to the pool without
/// touching the lane. Thus turn(), drive() and the functions that they call must not hold objects
/// with a non-trivial destructor while guarded() runs. They must return at once if it returns
/// `kept::no`.
///
/// The member functions are defined in several files:
/// - lane.cpp: the loop
/// - lane_runs.cpp, lane_steps.cpp: runs and their steps
/// - lane_calls.cpp: calls and actors
/// - lane_threads.cpp: leases and checkpoints
/// - lane_known.cpp: tasks that need not run
/// - lane_retry.cpp: failures and timeouts
/// - lane_nested.cpp: subgraphs
/// - lane_events.cpp: streams
/// - lane_guards.cpp: exceptions of user code outside bodies
class lane final : public executor {
public:
  /// Whether the calling thread still serves the lane after it has run a body.
  enum class kept : bool { no, yes };

  lane(detail::engine_core& core, std::uint32_t index);
  ~lane() override;

  // Callable from any thread.
  void post(lane_message* m) noexcept;
  void post_death(const actor_assignment& t) noexcept;
  void resume_soon(wait_ptr w) noexcept override;
  void wake_at(time_point when, wait_ptr w) noexcept override;
  void fork(execution_context& parent, task<void> body,
            boost::intrusive_ptr<fork_join> join) override;
  void give_up(execution_context& at) noexcept override;
  void nest(call& parent, detail::program_ptr table, write_list input,
            completer<detail::nested_outcome> done);
  [[nodiscard]] time_point now() const noexcept override {
    return std::chrono::steady_clock::now();
  }
  [[nodiscard]] std::uint64_t now_ns() const noexcept {
    return static_cast<std::uint64_t>(now().time_since_epoch().count());
  }
  [[nodiscard]] std::uint32_t index() const noexcept { return index_; }
  /// The number of runs that were submitted to the lane and have not ended.
  [[nodiscard]] std::size_t load() const noexcept { return load_.load(std::memory_order_relaxed); }
  /// Counts a run as submitted and returns its number, which is unique on this lane and never 0.
  [[nodiscard]] std::uint64_t expect_run() noexcept {
    load_.fetch_add(1, std::memory_order_relaxed);
    return numbers_.fetch_add(1, std::memory_order_relaxed) + 1;
  }
  [[nodiscard]] bool is_of(const detail::engine_core& core) const noexcept {
    return &core_ == &core;
  }
  /// Sets the weak pointer to the engine that the run_handles of this lane's runs share. Each lane
  /// has its own, because one reference count for all lanes would be contended.
  void set_anchor(std::shared_ptr<const std::weak_ptr<detail::engine_core>> a) noexcept {
    anchor_ = std::move(a);
  }
  [[nodiscard]] const std::shared_ptr<const std::weak_ptr<detail::engine_core>>&
  anchor() const noexcept {
    return anchor_;
  }

  // Called by the thread that serves the lane.
  void serve(worker& by, bool took_over);

  // Called by the watcher.
  /// The guard shows whether the lane's thread is inside a body. It is 0 outside bodies, and inside
  /// one an odd number that differs for each execution. take_over() sets it to 0.
  [[nodiscard]] std::uint64_t guard() const noexcept {
    return guard_.load(std::memory_order_acquire);
  }
  /// Takes the lane from its thread if that thread is still inside the body that it ran when `seen`
  /// was read from guard(). Returns whether it did; the caller must then call thread_pool::serve().
  [[nodiscard]] bool take_over(std::uint64_t seen) noexcept {
    return guard_.compare_exchange_strong(seen, 0, std::memory_order_acq_rel);
  }
  [[nodiscard]] worker* server() const noexcept { return server_.load(std::memory_order_acquire); }
  void hint_heavy() noexcept { heavy_.store(true, std::memory_order_relaxed); }

  /// Whether choose_lane() should compare the loads of all lanes for this run: true for one in 64
  /// calls. Called by the lane's own thread.
  [[nodiscard]] bool is_time_to_compare() noexcept { return ++chosen_ % 64 == 0; }
  /// Returns the program with a reference count that only this lane changes. Runs that are started
  /// from this lane then do not contend for the program's own count. The copy is released when the
  /// lane next sleeps. Called by the lane's own thread.
  [[nodiscard]] detail::program_ptr pin(const detail::program_ptr& table);

  // Handlers of messages; called by the lane's own thread between two bodies.
  void begin_run(std::uint64_t number, run_request&& request);
  /// Cancels a run.
  /// @param is_shutdown whether the engine is shutting down. Unfinished tasks then get no output
  /// from their on_failure handlers, so that they run again when the conversation is resumed.
  void cancel_run(std::uint64_t number, bool is_shutdown = false);
  void resume_run(std::uint64_t number);
  void resume_tree(run& r);
  void drain_run(std::uint64_t number, const std::string& reason);
  void run_was_saved(std::uint64_t number);
  void thread_was_taken(std::uint64_t number, result<lease_ptr> got);
  void actor_died(const actor_assignment& t);
  void on_call_returned(call& c);
  void begin_fork(call& parent, std::uint32_t generation, task<void> body,
                  boost::intrusive_ptr<fork_join> join);
  void begin_nested(call& parent, std::uint32_t generation, detail::program_ptr table,
                    write_list input, completer<detail::nested_outcome> done);
  [[nodiscard]] std::vector<run*> live_runs();
  /// The messages of other actors to the runs of this lane. Used by the lane's own thread.
  [[nodiscard]] run_mail& mail() noexcept { return mail_; }
  [[nodiscard]] run* find_run(std::uint64_t number) noexcept;
  /// Makes the lane refuse further runs; serve() returns when the current runs have ended.
  void stop() noexcept { stopping_ = true; }
  /// Refuses the messages in the inbox and all later ones. May be called from any thread, but only
  /// when no thread serves the lane any more, or when shutdown no longer waits for the thread that
  /// does.
  void close() noexcept;
  /// Completes a run that can no longer start, with the error graph_errc::cancelled. Thread-safe.
  void refuse_run(run_request&& request) noexcept;
  /// Releases all actors, because they must not outlive the actor system, and all waits, because
  /// they keep the lane alive. Called after the last serve().
  void let_go() noexcept;

  /// From this value of node_entry::slowness a node's bodies run as jobs instead of in place. A
  /// node reaches it after two take-overs of the lane or two hints of the watcher that bodies are
  /// long. Each short body lowers the value by 1.
  static constexpr int slow_node = 8;

  /// The lane that this thread serves; new runs prefer it. Null in other threads, and while a body
  /// runs, because the lane may then be taken over.
  static thread_local lane* current;

private:
  static constexpr std::uint32_t no_task = ~std::uint32_t{0};

  enum class alarm_kind : std::uint8_t {
    sleeper,   ///< the sleep of a suspended body
    call_time, ///< the timeout of a call
    deadline,  ///< the deadline of a run
    retry,     ///< the next attempt of a task
    patience,  ///< a failed run stops waiting for the offloaded siblings of the failed task
    step_limit ///< the timeout of a run's step
  };
  /// A point in time at which the lane has to do something for a wait, a call or a run.
  struct alarm {
    time_point due;
    wait_ptr sleeper;
    call* timed = nullptr;        ///< the call; set for call_time
    run* whose = nullptr;         ///< the run; set for the kinds that belong to a run
    std::uint32_t generation = 0; ///< generation of the call or run when the alarm was set
    std::uint32_t task = no_task; ///< the task; set for retry
    std::int64_t step = 0;
    alarm_kind kind = alarm_kind::sleeper;
    bool operator<(const alarm& other) const noexcept { return due > other.due; }
  };
  /// One entry of the ready queue; exactly one of the pointers is set.
  struct ready_item {
    run* to_drive = nullptr;
    call* to_start = nullptr;
    wait_ptr to_resume;
    /// for to_drive: its generation when queued; the entry is skipped if the run has ended
    /// meanwhile
    std::uint32_t generation = 0;
    /// for to_drive: starts the first call of run::first_start instead of driving the run
    bool starts_fork = false;
  };

  // Defined in lane.cpp: the loop.
  void drain();
  static void drop_waits(wait* first) noexcept;
  void fire_alarms();
  void fire(const alarm& due, run& r);
  [[nodiscard]] static bool is_stale(const alarm& at) noexcept;
  void set_alarm(alarm&& at);
  void set_alarm(alarm_kind kind, time_point due, run& r, std::uint32_t task = no_task);
  void set_alarm(time_point due, call& c);
  void sleep();
  void wake() noexcept;
  [[nodiscard]] kept turn();
  [[nodiscard]] kept guarded(call& c, std::coroutine_handle<> frame) noexcept;
  void adopt_interrupted();

  // Defined in lane_runs.cpp and lane_steps.cpp: runs and steps. A function that advances a run and
  // returns bool returns false if the run has ended, unless stated otherwise.
  [[nodiscard]] kept drive(run& r);
  [[nodiscard]] static std::uint32_t take_task(run& r) noexcept;
  void reschedule_if_ready(run& r);
  [[nodiscard]] kept start_task(run& r, std::uint32_t number);
  bool barrier(run& r);
  [[nodiscard]] bool is_applied(run& r, const result<void>& how);
  void offload_barrier(run& r);
  void barrier_ended(call& c);
  bool advance_step(run& r);
  [[nodiscard]] bool apply_cancelled(run& r, const run_error& why);
  [[nodiscard]] bool apply_cancelled_below(run& r, const run_error& why);
  void end_run(run& r, std::optional<run_error> error);
  void queue(run& r);
  void queue_first(run& r);
  void queue_new(run& r);
  void task_ended(run& r, std::uint32_t number, node_output&& output);
  void task_failed(run& r, std::uint32_t number, const body_input& input, node_output&& written,
                   run_error error);
  void tell_update(run& r, std::uint32_t number, const node_output& output, bool is_cached = false);
  [[nodiscard]] run_error error_of(run& r, std::uint32_t number, graph_errc code,
                                   std::exception_ptr cause);
  void take_thread(run& r);
  void begin_with(run& r, result<lease_ptr> got);
  [[nodiscard]] bool open_run(run& r);
  [[nodiscard]] bool set_breakpoints(run& r);
  static void find_resources(run& r) noexcept;
  static void share_resources(const run& r, nesting& below);
  [[nodiscard]] bool finish_step(run& r);
  [[nodiscard]] bool fails_to_save(run& r);
  [[nodiscard]] bool waits_for_checkpointer(run& r);
  void fail_step(run& r, const error& refused);
  [[nodiscard]] bool announce_step(run& r);
  [[nodiscard]] bool begin_step(run& r);
  void end_out_of_steps(run& r);
  void tell_barrier(run& r);
  void end_early(run& r);
  [[nodiscard]] static bool is_single_task(const run& r) noexcept;
  [[nodiscard]] bool settles(run& r);
  static void note_activity(const run& r) noexcept;
  void on_offloaded(call& c) noexcept;
  void on_returned(call& c);
  void stop_run(run& r, std::vector<interrupt> interrupts);
  [[nodiscard]] static bool stops_at(const run& r, std::uint8_t when) noexcept;
  void stop_with_questions(run& r);
  void on_task_interrupted(run& r, std::uint32_t number, conversation& talk);

  /// Calls user code that is not a body. If it throws, the exception is stored and ends the run at
  /// the next ends_broken(). `call` must not run a body, because no frame between serve() and a
  /// body may own anything; see the invariant of this class.
  /// @param whose names the code in the error text
  template <class Call>
  void call_user(run& r, std::string_view whose, Call call) {
    try {
      call();
    } catch (...) {
      note_broken(r, whose);
    }
  }
  static void note_broken(run& r, std::string_view whose);
  [[nodiscard]] bool ends_broken(run& r);
  [[nodiscard]] static result<void> apply_step(run& r);
  void end_thrown(run& r);
  [[nodiscard]] bool begin_state(run& r);

  // Defined in lane_known.cpp: tasks whose output is already known.
  void take_known(run& r);
  void begin_known(run& r);
  void cache_late(run& r, const std::vector<late_output>& late);
  [[nodiscard]] std::optional<std::string> cache_key(run& r, std::uint32_t number);
  void look_up(run& r, std::uint32_t number);
  void cache_output(run& r, std::uint32_t number, const node_output& output);
  static void keep_answers(run& r);
  void tell_thread(run& r, std::uint32_t number, const node_output* output,
                   const run_error* failure);
  [[nodiscard]] body_input reading(run& r, std::uint32_t number) const;

  // Defined in lane_events.cpp: events for streams.
  [[nodiscard]] static detail::run_event event_of(const run& r, stream_mode mode);
  void report_interrupts(run& r, std::uint32_t number, const std::vector<interrupt>& interrupts);
  void tell_start(run& r, std::uint32_t number);
  void tell_finish(run& r, std::uint32_t number, const node_output& output,
                   const run_error* failure);
  void tell(run& r, detail::run_event&& event, const step_task& t);
  void show(run& r, const std::vector<std::uint32_t>& changed);
  [[nodiscard]] static std::vector<std::uint32_t> visible_changes(const run& r);
  void emit_checkpoint(run& r);
  void emit_values(run& r);
  void emit_step(run& r);
  [[nodiscard]] run& take_run();

  // Defined in lane_retry.cpp: retries, error handlers, timeouts.
  void set_limits(const run& r, call& c);
  void watch_time(const run& r, call& c);
  void watch_step(run& r);
  void step_took_too_long(run& r);
  void look_at_time(call& c);
  [[nodiscard]] bool begin_handler(run& r, std::uint32_t number, const run_error& error);
  static void become_handler(run& r, std::uint32_t number, std::shared_ptr<const run_error> why);
  void set_deadline(run& r);
  [[nodiscard]] std::optional<timeout_policy> timeout_of(const run& r, const call& c) const;
  [[nodiscard]] bool will_retry(run& r, std::uint32_t number, run_error& error);
  void retry_due(run& r, std::uint32_t number);

  // Defined in lane_calls.cpp: calls and actors.
  void queue_start(run& r, call& c);
  void drop_starts(run& r);
  [[nodiscard]] kept start_next_fork(run& r);
  [[nodiscard]] kept start_fork(call& c);
  [[nodiscard]] kept resume(wait_ptr&& w);
  void prepare_call(run& r, call& c, std::uint32_t number);
  void attach_observers(run& r, call& c, std::uint32_t number);
  static void give_failure(run& r, call& c, std::uint32_t number);
  void after_in_place(run& r, call& c);
  void send_to_jobs(run& r, pooled_actor_ptr&& actor, std::uint32_t number);
  void detach(run& r, call& c);
  void drop_detached(call& c);
  void finish_detached(call& c);
  void abandon(call& c);
  void actor_of_call_died(run& r, call& c);
  void forget_run(const run& r) noexcept;
  void learn(const call& c, int change) noexcept;
  void learn_heavy(const call& c) noexcept;
  [[nodiscard]] call& take_call();
  void free_call(call& c);
  [[nodiscard]] pooled_actor_ptr take_actor(actor_kind kind, run& r);
  void give_back(pooled_actor_ptr&& s) noexcept;
  [[nodiscard]] pooled_actor_ptr& node_actor(run& r, std::uint32_t node);

  detail::engine_core& core_;
  const engine_options& options_;
  const std::uint32_t index_;
  bool stopping_ = false;

  // bounded: one entry per live run, forked call and ended wait
  std::deque<ready_item> ready_;
  static constexpr std::size_t sweep_min = 1'024;
  std::vector<alarm> alarms_; // a heap; the earliest alarm is at the front
  std::size_t sweep_at_ = sweep_min;
  boost::unordered_flat_map<std::uint64_t, run*> live_;
  std::vector<std::unique_ptr<run>> runs_; // all records; the free ones are in free_runs_
  std::vector<run*> free_runs_;
  std::vector<std::unique_ptr<call>> calls_;
  std::vector<call*> free_calls_;
  std::vector<pooled_actor_ptr> free_actors_;
  run_mail mail_;
  call* in_place_ = nullptr; // the record that all bodies run in place share
  call* running_ = nullptr;  // the call whose body the guard protects
  // messages that drain() has taken from the inbox and not handled yet; atomic because of close()
  std::atomic<lane_message*> arrived_{nullptr};
  wait_ptr resuming_; // used only within turn(), whose frame must not own the wait
  std::vector<detail::program_ptr> pinned_;
  std::uint64_t sequence_ = 0;
  std::uint32_t chosen_ = 0;
  // the random source of the jitter between retries; nothing else uses it, so results do not depend
  // on it
  std::minstd_rand luck_{std::random_device{}()};

  // The following members are shared with other threads and therefore on their own cache lines.

  // odd while the lane's thread is inside a body: sequence << 1 | 1
  alignas(64) std::atomic<std::uint64_t> guard_{0};
  std::atomic<bool> heavy_{false};
  alignas(64) inbox<lane_message> messages_;
  inbox<wait> waits_;
  std::atomic<bool> asleep_{false};
  std::atomic<worker*> server_{nullptr};
  alignas(64) std::atomic<std::size_t> load_{0};
  std::atomic<std::uint64_t> numbers_{0};
  std::shared_ptr<const std::weak_ptr<detail::engine_core>> anchor_;
  std::mutex sleep_mutex_;
  std::condition_variable woken_;
};

} // namespace superstep

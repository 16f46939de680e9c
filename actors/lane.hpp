// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "call.hpp"
#include "inbox.hpp"
#include "run.hpp"

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

/// One lane per core: owns its runs, their calls, actors and alarms, without locks, because one
/// thread at a time serves it.
///
/// Invariant: between serve() and a body lie only frames that hold nothing. Where a run stands is
/// data (run, next task, call record). A body that blocks keeps its thread; the watcher gives the
/// lane to another thread, which goes on with the run's next task, while the old thread, when its
/// body returns at last, finds the guard taken and goes back to the thread pool without touching
/// the lane. So nothing in turn(), drive() or what they call may have a destructor that matters
/// across guarded(), and `kept::no` must be returned at once.
class lane final : public executor {
public:
  enum class kept : bool { no, yes };

  lane(detail::engine_core& core, std::uint32_t index);
  ~lane() override;

  // Any thread.
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
  /// Runs begun or on their way here, and not ended.
  [[nodiscard]] std::size_t load() const noexcept { return load_.load(std::memory_order_relaxed); }
  /// Counts a run in; its number, unique on this lane and never 0.
  [[nodiscard]] std::uint64_t expect_run() noexcept {
    load_.fetch_add(1, std::memory_order_relaxed);
    return numbers_.fetch_add(1, std::memory_order_relaxed) + 1;
  }
  [[nodiscard]] bool is_of(const detail::engine_core& core) const noexcept {
    return &core_ == &core;
  }
  /// What handles hold instead of the core itself: a count of the lane's own, so that two lanes
  /// that hand out handles do not write one line.
  void set_anchor(std::shared_ptr<const std::weak_ptr<detail::engine_core>> a) noexcept {
    anchor_ = std::move(a);
  }
  [[nodiscard]] const std::shared_ptr<const std::weak_ptr<detail::engine_core>>&
  anchor() const noexcept {
    return anchor_;
  }

  // The thread that serves it.
  void serve(worker& by, bool took_over);

  // The watcher.
  [[nodiscard]] std::uint64_t guard() const noexcept {
    return guard_.load(std::memory_order_acquire);
  }
  /// Takes the lane from a thread that is still inside the body it was in when `seen` was read.
  [[nodiscard]] bool take_over(std::uint64_t seen) noexcept {
    return guard_.compare_exchange_strong(seen, 0, std::memory_order_acq_rel);
  }
  [[nodiscard]] worker* server() const noexcept { return server_.load(std::memory_order_acquire); }
  void hint_heavy() noexcept { heavy_.store(true, std::memory_order_relaxed); }

  /// By its own thread: once in a while.
  [[nodiscard]] bool is_time_to_compare() noexcept { return ++chosen_ % 64 == 0; }
  /// By its own thread: the same table under a count of this lane's own, for runs that follow each
  /// other here. Held until the lane next sleeps.
  [[nodiscard]] detail::program_ptr pin(const detail::program_ptr& table);

  // Messages, on the lane.
  void begin_run(std::uint64_t number, run_request&& request);
  /// `is_shutdown`: nothing more is written, so that its thread goes on where it stood.
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
  [[nodiscard]] run* find_run(std::uint64_t number) noexcept;
  /// No more runs: the lane is left when those that it has have ended.
  void stop() noexcept { stopping_ = true; }
  /// Refuses the messages in the inbox and all later ones. Any thread, once no thread serves the
  /// lane or the one that does will not come back from its body in time.
  void close() noexcept;
  /// Answers the caller of a run that cannot be started any more. Any thread.
  void refuse_run(run_request&& request) noexcept;
  /// After the last serve(): lets go of every actor, which must not outlive the actor system, and
  /// of every wait, which would keep the lane alive.
  void let_go() noexcept;

  /// From this guess on (see node_entry::slowness) a node's bodies go to the job queue: two
  /// hand-overs, or many medium bodies, more than short ones since.
  static constexpr int slow_node = 8;

  static thread_local lane* current; ///< the lane that this thread serves: a hint for new runs

private:
  static constexpr std::uint32_t no_task = ~std::uint32_t{0};

  enum class alarm_kind : std::uint8_t {
    sleeper,   ///< a body that sleeps
    call_time, ///< a call that may have taken too long
    deadline,  ///< of a run
    retry,     ///< of a run's task
    patience,  ///< of a run that has failed, with what still moves
    step_limit ///< of a run's step
  };
  struct alarm {
    time_point due;
    wait_ptr sleeper;
    call* timed = nullptr;        ///< of a call_time
    run* whose = nullptr;         ///< of the kinds that are a run's
    std::uint32_t generation = 0; ///< of the call or the run
    std::uint32_t task = no_task; ///< of a retry
    std::int64_t step = 0;
    alarm_kind kind = alarm_kind::sleeper;
    bool operator<(const alarm& other) const noexcept { return due > other.due; }
  };
  /// One entry of the ready queue; exactly one of the pointers is set.
  struct ready_item {
    run* to_drive = nullptr;
    call* to_start = nullptr;
    wait_ptr to_resume;
    std::uint32_t generation = 0; ///< of the run to drive: an entry of an ended run is skipped
  };

  // lane.cpp: the loop.
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

  // lane_runs.cpp: coordinators.
  [[nodiscard]] kept drive(run& r);
  [[nodiscard]] static std::uint32_t take_task(run& r) noexcept;
  void reschedule_if_ready(run& r);
  [[nodiscard]] kept start_task(run& r, std::uint32_t number);
  bool barrier(run& r);
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

  /// Calls a user's code that is not a body. What it throws is noted and ends the run at the next
  /// ends_broken(). Such code never runs above a body: no frame of a lane owns anything there.
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

  // lane_known.cpp: tasks that need not be run.
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

  // lane_events.cpp: what streams are told.
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

  // lane_retry.cpp
  void set_limits(const run& r, call& c);
  void watch_time(const run& r, call& c);
  void watch_step(run& r);
  void step_took_too_long(run& r);
  void look_at_time(call& c);
  [[nodiscard]] bool begin_handler(run& r, std::uint32_t number, const run_error& error);
  static void become_handler(run& r, std::uint32_t number, std::shared_ptr<const run_error> why);
  [[nodiscard]] std::optional<timeout_policy> timeout_of(const run& r, const call& c) const;
  [[nodiscard]] bool will_retry(run& r, std::uint32_t number, run_error& error);
  void retry_due(run& r, std::uint32_t number);

  // lane_calls.cpp: calls and actors.
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

  std::deque<ready_item> ready_; // one entry a run and an ended wait: bounded by what is alive
  static constexpr std::size_t sweep_min = 1'024;
  std::vector<alarm> alarms_; // a heap
  std::size_t sweep_at_ = sweep_min;
  boost::unordered_flat_map<std::uint64_t, run*> live_;
  std::vector<std::unique_ptr<run>> runs_; // all records; free ones are listed below
  std::vector<run*> free_runs_;
  std::vector<std::unique_ptr<call>> calls_;
  std::vector<call*> free_calls_;
  std::vector<pooled_actor_ptr> free_actors_;
  call* in_place_ = nullptr; // the record for bodies run in place
  call* running_ = nullptr;  // whose body the guard is about
  wait_ptr resuming_;        // scratch of turn()
  std::vector<detail::program_ptr> pinned_;
  std::uint64_t sequence_ = 0;
  std::uint32_t chosen_ = 0;
  std::minstd_rand luck_{std::random_device{}()}; // of jitter alone: no result depends on it

  // Shared with other threads: lines of their own.
  alignas(64) std::atomic<std::uint64_t> guard_{0}; // odd while inside a body: sequence << 1 | 1
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

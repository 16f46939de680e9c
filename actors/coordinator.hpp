// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "call_table.hpp"
#include "coordinator_host.hpp"
#include "record_pool.hpp"
#include "step_policy.hpp"
#include "task_policy.hpp"

#include <boost/unordered/unordered_flat_map.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace superstep {

/// Decides what the runs of a lane do. It is a state machine for each run and each call
/// (phases.hpp) with the policy for steps, failures, retries, timeouts, breakpoints, nested runs,
/// cancellation and shutdown. It has no threads and no clock, performs no I/O except through
/// checkpointers, and does not include CAF.
///
/// Its driver reports events by calling the member functions, on one thread at a time. The
/// coordinator lists runs and calls that have something to do in ready(). The driver takes the
/// entries in the order of the queue, and for a run asks next() what to do. Everything else that
/// the coordinator needs is in coordinator_host.
///
/// Exceptions of user code outside bodies, and shortage of memory, end the run that they concern.
/// No member function throws, except begin_* and where stated.
///
/// The member functions are defined in several files:
/// - coordinator.cpp: how runs start and end, and events from outside
/// - coordinator_cancel.cpp: cancellation
/// - coordinator_move.cpp: moves of runs between coordinators
/// The classes step_policy (the barrier and the next step) and task_policy (calls and the results
/// of tasks) belong to it.
class run_coordinator {
public:
  using time_point = coordinator_host::time_point;

  explicit run_coordinator(coordinator_host& host)
      : host_{host}, calls_{host, ready_, timers_}, tasks_{*this, host}, steps_{*this, host} {}
  run_coordinator(const run_coordinator&) = delete;
  run_coordinator& operator=(const run_coordinator&) = delete;

  [[nodiscard]] ready_queue& ready() noexcept { return ready_; }
  [[nodiscard]] timer_heap& timers() noexcept { return timers_; }
  [[nodiscard]] call_table& calls() noexcept { return calls_; }
  [[nodiscard]] task_policy& tasks() noexcept { return tasks_; }
  [[nodiscard]] step_policy& steps() noexcept { return steps_; }
  [[nodiscard]] run* find_run(std::uint64_t number) noexcept;
  [[nodiscard]] std::size_t live_runs() const noexcept { return live_.size(); }

  // Runs.
  void begin_run(std::uint64_t number, run_request&& request) noexcept;
  /// Decides what a run does next.
  [[nodiscard]] next_action next(run& r) noexcept {
    if (r.is_in_step()) {
      while (r.has_to_start()) {
        const auto number = take_task(r);
        if (!r.step.tasks[number].is_known)
          return {next_action::kind::start_task, number};
      }
      return {steps_.end_step(r), 0};
    }
    if (r.phase == run_phase::cancelling)
      finish_cancel(r);
    return {next_action::kind::wait, 0};
  }
  /// Lists a run as ready.
  void queue(run& r) noexcept {
    if (r.is_live())
      ready_.push_back(r.group(), r.turn);
  }
  /// Handles up to `max` timers that are due at `now`.
  void fire_timers(time_point now, unsigned max) noexcept;
  /// Reports the answer to coordinator_host::take_lease().
  void leased(std::uint64_t number, result<lease_ptr> got) noexcept;
  /// Reports the end of the wait that coordinator_host::wait_until_saved() has started.
  /// @param step the step in which the wait was started
  void saved(std::uint64_t number, std::int64_t step) noexcept;
  /// Moves a run that has reached its next super-step to the record `to`, which no coordinator has.
  /// The run has not ended, but this coordinator does not have it any more.
  /// @pre no task of the step has started, and the run has no parent and no pending failure
  void give_away(run& r, run& to) noexcept;
  /// Continues a run that another coordinator has given away. Leaves `from` empty.
  void adopt(run& from) noexcept;
  /// Reports that a reader has made room in the stream of a run.
  void reader_ready(std::uint64_t number) noexcept;
  void cancel(std::uint64_t number) noexcept;
  void drain(std::uint64_t number, const std::string& reason) noexcept;
  /// Ends all runs. Unfinished tasks get no output from their on_failure handlers, so that they run
  /// again when the run is resumed.
  void shut_down() noexcept;
  /// Destroys the bodies of all calls and releases all actors. Called when the lane is not served
  /// any more.
  void let_go() noexcept;
  /// Ends a run whose actor has exited.
  void run_exited(run& r) noexcept;
  /// Ends a run because the actor of one of its nodes has exited while no call used it.
  void node_exited(run& r, std::uint32_t node) noexcept;

  /// Ends a run: abandons its calls and ends its nested runs, releases what it uses, and delivers
  /// its result. Does not fail if memory is short.
  void end(run& r, std::optional<run_error> error) noexcept;
  /// Calls f. If user code in f throws, or memory is short, the run ends with that error.
  /// @param what the activity, for the error text; null for the current step
  template <class F>
  void guard(run& r, const char* what, F f) noexcept {
    try {
      f();
    } catch (...) {
      end_thrown(r, what);
    }
  }
  /// Lists a run as ready after one of its calls has ended, if it then has something to do.
  void queue_after_call(run& r) noexcept {
    if (r.is_live() && (r.open.empty() || r.has_to_start()))
      queue(r);
  }

private:
  friend class lane_inspector;

  [[nodiscard]] static std::uint32_t take_task(run& r) noexcept;

  // Defined in coordinator.cpp.
  [[nodiscard]] run& take_run();
  [[nodiscard]] run* enter(std::uint64_t number, std::function<void(detail::raw_result)>& done,
                           const char* what, std::int64_t step) noexcept;
  void open(run& r, detail::program_ptr&& table, detail::run_input&& input);
  void open_with(run& r, result<lease_ptr> got);
  [[nodiscard]] bool load(run& r);
  void end_thrown(run& r, const char* what) noexcept;
  void release(run& r) noexcept;
  void fire(timer& t, time_point now) noexcept;

  // Defined in coordinator_cancel.cpp.
  void stop_tree(run& r) noexcept;
  void finish_cancel(run& r) noexcept;
  void keep_outputs_below(run& r, const run_error& why) noexcept;
  void keep_outputs(run& r, const run_error& why);

  coordinator_host& host_;
  ready_queue ready_;
  timer_heap timers_;
  call_table calls_;
  task_policy tasks_;
  step_policy steps_;
  boost::unordered_flat_map<std::uint64_t, run*> live_;
  record_pool<run> runs_;
};

/// Calls f for each nested run that a body of `r` has started and that has not ended. f may end the
/// run that it gets.
template <class F>
void each_below(run& r, F f) {
  for (auto i = r.open.size(); i > 0; --i)
    for (auto* each = r.open[i - 1]->extras().first_child; each != nullptr;) {
      auto* const following = each->next_child;
      f(*each);
      each = following;
    }
}

/// Reports activity of a nested run to its ancestors, where failed steps and timeouts use it.
void note_activity(const run& r) noexcept;

} // namespace superstep

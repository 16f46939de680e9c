// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coordinator_host.hpp"

#include <cstdint>

namespace superstep {

class run_coordinator;

/// Decides about calls and the results of tasks: outputs, interrupts, failures, further attempts,
/// error handlers, timeouts and nested runs. A part of the coordinator.
class task_policy {
public:
  task_policy(run_coordinator& runs, coordinator_host& host) noexcept : runs_{runs}, host_{host} {}
  task_policy(const task_policy&) = delete;
  task_policy& operator=(const task_policy&) = delete;

  /// Reports that a task's body has returned in place. Its record may be used for the next task if
  /// the body has ended; otherwise the call has become detached.
  /// @param exited whether the actor of the call has exited
  void in_place_ended(run& r, call& c, bool exited) noexcept;
  void in_place_suspended(run& r, call& c) noexcept;
  /// Reports that the watcher has taken the lane from the thread that runs the call's body.
  void was_taken(call& c) noexcept;
  /// Starts a task as a job. If no thread is available, the driver starts the call when it is next
  /// in the ready queue. @pre fill_call() was called
  void start_as_job(run& r, call& c) noexcept;
  /// Starts a task whose actor handles a message: sends the activation to the actor's mailbox.
  /// @pre fill_call() was called
  void start_by_message(run& r, call& c) noexcept;
  /// Sends the activation of a call that has not started or is suspended to its actor, which
  /// handles a message.
  void continue_by_message(call& c) noexcept;
  /// Reports that the actor of a call has taken the activation, or has died.
  void activation_answered(call& c) noexcept;
  /// Reports that a detached body has ended.
  void call_ended(call& c) noexcept;
  /// Reports that the body of an offloaded call has ended or is suspended, or that the actor of an
  /// abandoned call has answered.
  void call_returned(call& c) noexcept;
  /// Fails a call whose actor has exited.
  void call_exited(call& c) noexcept;
  /// Fails a task that could not be started, with the exception being handled.
  void start_failed(run& r, std::uint32_t number) noexcept;
  void begin_fork(call& parent, std::uint32_t generation, task<void>&& body,
                  boost::intrusive_ptr<fork_join>&& join) noexcept;
  void begin_nested(call& parent, std::uint32_t generation, detail::program_ptr table,
                    write_list input, const completer<detail::nested_outcome>& done) noexcept;
  void task_ended(run& r, std::uint32_t number, node_output&& output);
  /// Handles a timeout of a call: fails the call if it has exceeded one, or sets the timer again.
  void limit_due(call& c, run::time_point now);
  /// Ends a call whose body has not ended.
  void abandon(call& c) noexcept;
  [[nodiscard]] bool settles(run& r);

private:
  void task_failed(run& r, std::uint32_t number, const body_input& input, node_output&& written,
                   run_error error);
  void settle(run& r) noexcept;
  [[nodiscard]] bool recover(run& r, std::uint32_t number, const body_input& input,
                             run_error& error);
  [[nodiscard]] bool retry(run& r, std::uint32_t number, run_error& error);
  [[nodiscard]] bool begin_handler(run& r, std::uint32_t number, const run_error& error);
  void detach(run& r, call& c, call_phase to);
  void fail_call(call& c, run_error&& error);
  void mail_activation(call& c);
  void end_children(call& c) noexcept;

  run_coordinator& runs_;
  coordinator_host& host_;
};

} // namespace superstep

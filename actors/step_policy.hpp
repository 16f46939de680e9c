// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coordinator_host.hpp"

#include <cstdint>
#include <vector>

namespace superstep {

class run_coordinator;

/// The next thing that the driver of a run has to do; see run_coordinator::next().
struct next_action {
  enum class kind : std::uint8_t {
    start_task, ///< start the task with this number, then ask again
    new_step,   ///< nothing; the run has reached its next step. Ask again, or later
    wait,       ///< nothing until the run is listed as ready again; it may have ended
  };
  kind what;
  std::uint32_t task;
};

/// Where a run gets to its next step from.
enum class step_from : std::uint8_t { opening, barrier, breakpoint };

/// Takes runs from one super-step to the next: the barrier, the checkpoint, breakpoints and
/// interrupts, and the preparation of the next step. A part of the coordinator. A function that
/// advances a run and returns bool returns false if the run has ended or waits.
class step_policy {
public:
  step_policy(run_coordinator& runs, coordinator_host& host) noexcept : runs_{runs}, host_{host} {}
  step_policy(const step_policy&) = delete;
  step_policy& operator=(const step_policy&) = delete;

  [[nodiscard]] next_action::kind end_step(run& r) noexcept;
  [[nodiscard]] bool finish_step(run& r);
  void barrier_ended(call& c) noexcept;
  void count_barrier_end(run& r) noexcept;
  [[nodiscard]] bool advance(run& r, step_from from);
  [[nodiscard]] bool enter_step(run& r);
  void let_tasks_start(run& r);
  void fail_step(run& r, const error& refused);

private:
  [[nodiscard]] bool barrier(run& r);
  [[nodiscard]] bool leave_barrier(run& r);
  [[nodiscard]] bool finish_barrier(run& r, const result<void>& how);
  void offload_barrier(run& r);
  [[nodiscard]] bool begin_step(run& r, step_from from);
  [[nodiscard]] bool ends_broken(run& r);
  void stop(run& r, std::vector<interrupt> interrupts);
  void end_settled(run& r);
  void stop_at_interrupts(run& r);

  run_coordinator& runs_;
  coordinator_host& host_;
};

} // namespace superstep

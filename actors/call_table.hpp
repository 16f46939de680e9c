// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coordinator_host.hpp"
#include "record_pool.hpp"

#include <cstddef>
#include <memory>
#include <vector>

namespace superstep {

/// The records of a lane's calls: creates and recycles them, keeps the lists that contain them, and
/// changes their phases. Decides nothing about runs.
class call_table {
public:
  call_table(coordinator_host& host, ready_queue& ready, timer_heap& timers) noexcept
      : host_{host}, ready_{ready}, timers_{timers} {}
  call_table(const call_table&) = delete;
  call_table& operator=(const call_table&) = delete;

  /// Returns a free record.
  [[nodiscard]] call& take();
  /// Destroys what the body of a call has left, and recycles the record when no forked call uses it
  /// any more. @pre no thread runs the body, and the call is not listed in run::open
  void free(call& c) noexcept;
  /// Recycles a record that take() has returned and that was not used.
  void put_back(call& c) noexcept;
  /// Moves a call to another phase. Counts offloaded bodies in the call's run and in the runs above
  /// it, and lists the call as ready if it is suspended and a wait has ended.
  void move(call& c, call_phase to) noexcept;
  /// Adds a call to run::open. The record then owns what its body uses.
  void detach(run& r, call& c, call_phase to);
  /// Removes a call from run::open, from its parent's forked calls and from the ready queue.
  void drop(call& c) noexcept;
  /// Creates a call for work that the body of `parent` has forked, and lists it as ready.
  void add_fork(call& parent, task<void>&& body, boost::intrusive_ptr<fork_join>&& join);
  /// Returns the next forked call of a run that waits for its start. Lists the run again if there
  /// are more, so that the runs of a lane take turns.
  [[nodiscard]] call& next_fork(run& r) noexcept;
  /// Reports that a wait of a body has ended.
  void wait_ended(wait_ptr&& w) noexcept;
  /// Destroys the bodies of all records.
  void drop_bodies() noexcept;
  /// All records.
  [[nodiscard]] const std::vector<std::unique_ptr<call>>& records() const noexcept {
    return records_.all();
  }
  [[nodiscard]] std::size_t used() const noexcept { return records_.used(); }

private:
  friend class lane_inspector;

  [[nodiscard]] call& take_record();
  static void prepare_fork(call& parent, call& c, task<void>&& body,
                           boost::intrusive_ptr<fork_join>&& join);
  void recycle(call& c) noexcept;
  void wait_for_body(call& c) noexcept;

  coordinator_host& host_;
  ready_queue& ready_;
  timer_heap& timers_;
  record_pool<call> records_;
  // the outcome of a call whose body is suspended, with the capacity of its buffers
  std::unique_ptr<detail::node_body::outcome> spare_;
};

} // namespace superstep

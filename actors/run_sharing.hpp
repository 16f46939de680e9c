// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "run.hpp"

#include <boost/unordered/unordered_flat_map.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

namespace superstep {

namespace detail {
class engine_core;
} // namespace detail

class lane;
class lane_host;
class lane_inbox;

/// Moves runs of a busy lane to an idle one, and finds the runs that were moved. A part of a lane.
///
/// Each poll, the watcher looks for lanes that sleep and lanes that run bodies, and asks a busy
/// lane to share with an idle one. The busy lane then gives away half of the runs in its ready
/// queue, each when it reaches its next super-step. A run is moved only if nothing but its number
/// refers to it: it has no task that has started, no parent run, and no actor that other threads
/// can reach. The idle lane gets the contents of the record, acquires actors of its own, and
/// continues with the next step. The saved thread and its lease move with the run. While a run
/// waits for the lease or for its checkpointer, it has not reached a super-step, so it stays.
///
/// The number of a run contains the index of its home, the lane to which it was submitted. The home
/// knows where its runs are. A message that does not find its run is passed on: to the home by any
/// other lane, and to the run's present lane by the home. Therefore a lane informs the home before
/// it passes a run on or ends it.
class run_sharing {
public:
  run_sharing(detail::engine_core& core, lane& owner, lane_host& host, lane_inbox& inbox) noexcept;
  run_sharing(const run_sharing&) = delete;
  run_sharing& operator=(const run_sharing&) = delete;

  /// Returns the index of the lane to which a run was submitted.
  [[nodiscard]] static std::uint32_t home_of(std::uint64_t number) noexcept {
    return static_cast<std::uint32_t>(number & (numbers_step - 1));
  }
  /// The difference between the numbers of two consecutive runs of a lane.
  static constexpr auto numbers_step = std::uint64_t{1} << 16;

  /// Whether the lane has nothing to do. Called by the watcher.
  [[nodiscard]] bool is_idle() const noexcept;
  /// The number of runs that the lane has given away. Thread-safe.
  [[nodiscard]] std::uint64_t given() const noexcept {
    return given_.load(std::memory_order_relaxed);
  }
  /// Asks the lane to share its runs with an idle lane. Does nothing while an earlier request
  /// waits, or if the lane had nothing to share at one of the last polls. Called by the watcher.
  void ask(lane& idle);

  // Called by the lane's thread.
  /// The number of super-steps of one run after which the lane serves its other runs. 1 while the
  /// lane shares runs, so that each turn ends at a super-step.
  [[nodiscard]] std::uint32_t turn_steps() const noexcept { return turn_steps_; }
  /// Moves a run that has reached its next super-step, if the lane shares runs. Returns false if
  /// the run stays; otherwise the record belongs to no run.
  [[nodiscard]] bool give(run& r) noexcept;
  /// Stops sharing. Called before the lane sleeps.
  void stop() noexcept {
    idle_ = nullptr;
    turn_steps_ = steps_per_turn_;
  }
  /// The lane to which a message for a run is passed on that is not on this lane; empty if the run
  /// has ended.
  [[nodiscard]] std::optional<std::uint32_t> find(std::uint64_t number) const;
  /// Notes that a run has arrived that another lane has given to this one.
  void arrived(std::uint64_t number) noexcept { moved_.erase(number); }
  /// Notes that a run has ended on this lane.
  void ended(std::uint64_t number) noexcept {
    if (home_of(number) != index_)
      ended_on_other_lane(number);
  }

private:
  /// The progress of a request of the watcher.
  enum class request : std::uint8_t { none, waits, had_nothing };

  void begin(lane& idle);
  void ended_on_other_lane(std::uint64_t number) noexcept;
  void note(std::uint64_t number, std::uint32_t at);
  [[nodiscard]] static bool is_movable(run& r) noexcept;

  detail::engine_core& core_;
  lane& lane_;
  lane_host& host_;
  lane_inbox& inbox_;
  const std::uint32_t index_;
  const std::uint32_t steps_per_turn_;
  std::uint32_t turn_steps_;
  lane* idle_ = nullptr;         // the lane that gets the runs; null if the lane does not share
  std::uint32_t left_ = 0;       // number of runs that are still to be given away
  std::uint32_t turns_left_ = 0; // number of turns after which the lane stops sharing
  // The present lanes of the runs whose home this lane is and that were moved. The lane itself
  // while a run is on its way back.
  boost::unordered_flat_map<std::uint64_t, std::uint32_t> moved_;
  std::uint32_t pause_ = 0; // used by the watcher: number of polls until it asks again
  std::atomic<request> request_{request::none};
  std::atomic<std::uint64_t> given_{0};
};

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "run.hpp"

#include <boost/container/small_vector.hpp>

#include <cstdint>
#include <span>

namespace superstep {

/// Sends the events of a run to its stream. The functions check whether the run streams their mode,
/// unless stated otherwise. Copying values of the user's types may throw.
class run_events {
public:
  /// For interrupted(): the run has stopped at a breakpoint.
  static constexpr std::uint32_t no_task = ~std::uint32_t{0};

  explicit run_events(run& r) noexcept : run_{r} {}

  void update(std::uint32_t number, const node_output& output, bool is_cached = false);
  void interrupted(std::uint32_t number, const std::vector<interrupt>& interrupts);
  /// Sends the event for the start of a task. @pre the run streams mode `tasks`
  void started(std::uint32_t number);
  /// Sends the event for the end of a task. @pre the run streams mode `tasks`
  void finished(std::uint32_t number, const node_output& output, const run_error* failure);
  /// Sends the events that were held until the barrier.
  void send_held();
  /// @pre the run streams mode `checkpoints` and has a checkpointer
  void checkpoint();
  void values();
  /// @pre the run streams mode `debug`
  void barrier();
  /// @pre the run streams mode `debug`
  void step();
  void show(std::span<const std::uint32_t> changed);
  /// Returns an event with the mode, step and path of the run.
  [[nodiscard]] detail::run_event make(stream_mode mode) const;

private:
  using channel_numbers = boost::container::small_vector<std::uint32_t, 8>;

  [[nodiscard]] detail::run_event make_of(const step_task& t, stream_mode mode) const;
  void push(detail::run_event&& event) const;
  void send(detail::run_event&& event, const step_task& t);
  [[nodiscard]] channel_numbers visible_changes() const;

  run& run_;
};

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "simulation.hpp"

#include <superstep/base/detail/assert.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace superstep {

/// The phases of a run. `run_moves` lists the transitions, and transition() is the only function
/// that writes a run's phase.
enum class run_phase : std::uint8_t {
  idle,       ///< the record is not used by a run; a run from another lane continues as running
  opening,    ///< waits for the lease on its thread, or loads the thread
  preparing,  ///< creates the next super-step and decides whether the run ends before it
  saving,     ///< waits until its checkpoint is durable
  paused,     ///< waits for the reader of its stream
  running,    ///< starts the tasks of a step and receives their results
  settling,   ///< the step has failed or commands the parent; started tasks may still end
  applying,   ///< at the barrier; a job thread may apply the step
  cancelling, ///< was cancelled while a job thread applies its step, or that of a nested run
  ending,     ///< releases what it uses and delivers its result
};

/// The phases of a call. `call_moves` lists the transitions, and transition() is the only function
/// that writes a call's phase.
enum class call_phase : std::uint8_t {
  idle,      ///< the record is not used by a call
  in_place,  ///< the lane's thread runs the body, in the shared record
  waiting,   ///< has not started; a lane will start it
  job,       ///< queued for a job thread, or run by one
  mailed,    ///< the activation is in the mailbox of its actor, which handles a message
  activated, ///< the actor has taken the activation, or has died; the lane continues with the call
  suspended, ///< the body is a coroutine that awaits something
  resuming,  ///< the lane's thread runs the body, which has a record of its own
  taken,     ///< the watcher has taken the lane from the thread that runs the body
  given_up,  ///< was abandoned; another thread still runs the body, or the activation is mailed
  lingering, ///< the body has ended; calls that it has forked still use the record
};

inline constexpr auto run_phases = std::size_t{10};
inline constexpr auto call_phases = std::size_t{11};

namespace detail {

template <class Phase, class... More>
consteval std::uint16_t phases(More... to) {
  return static_cast<std::uint16_t>(((1U << static_cast<unsigned>(to)) | ... | 0U));
}

consteval std::array<std::uint16_t, run_phases> make_run_moves() {
  using enum run_phase;
  using p = run_phase;
  return {
      phases<p>(opening, running),                       // idle
      phases<p>(preparing, running, ending),             // opening
      phases<p>(running, saving, paused, ending),        // preparing
      phases<p>(running, paused, cancelling, ending),    // saving
      phases<p>(running, cancelling, ending),            // paused
      phases<p>(settling, applying, cancelling, ending), // running
      phases<p>(cancelling, ending),                     // settling
      phases<p>(preparing, cancelling, ending),          // applying
      phases<p>(ending),                                 // cancelling
      phases<p>(idle),                                   // ending
  };
}

consteval std::array<std::uint16_t, call_phases> make_call_moves() {
  using enum call_phase;
  using p = call_phase;
  return {
      phases<p>(in_place, waiting, job, mailed),    // idle
      phases<p>(idle, suspended, taken),            // in_place
      phases<p>(resuming, job, mailed, idle),       // waiting
      phases<p>(waiting, suspended, given_up),      // job
      phases<p>(activated, given_up),               // mailed
      phases<p>(resuming),                          // activated
      phases<p>(resuming, mailed, idle, lingering), // suspended
      phases<p>(suspended, taken, idle, lingering), // resuming
      phases<p>(suspended, given_up),               // taken
      phases<p>(idle, lingering),                   // given_up
      phases<p>(idle),                              // lingering
  };
}

} // namespace detail

/// The transitions of a run: for each phase, the set of the phases that may follow it, as bits.
inline constexpr auto run_moves = detail::make_run_moves();
/// The transitions of a call, in the same form.
inline constexpr auto call_moves = detail::make_call_moves();

/// Whether a table lists a transition.
template <class Phase, std::size_t N>
[[nodiscard]] constexpr bool may_follow(const std::array<std::uint16_t, N>& moves, Phase from,
                                        Phase to) noexcept {
  return ((moves[static_cast<std::size_t>(from)] >> static_cast<unsigned>(to)) & 1U) != 0;
}

/// The table of each machine, selected by the type of its phases.
[[nodiscard]] constexpr const auto& moves_of(run_phase /*machine*/) noexcept {
  return run_moves;
}
[[nodiscard]] constexpr const auto& moves_of(call_phase /*machine*/) noexcept {
  return call_moves;
}

/// The phase of a run or call. Only transition() changes it.
template <class Phase>
class phase_cell {
public:
  operator Phase() const noexcept { return now_; } // implicit, so that it reads like the enum

private:
  template <class Record, class P>
  friend void transition(Record& record, P to) noexcept;

  Phase now_ = Phase::idle;
};

/// Moves a run or a call (`record.phase`) to another phase. Asserts that the table lists the
/// transition.
template <class Record, class P>
void transition(Record& record, P to) noexcept {
  SUPERSTEP_ASSERT(may_follow(moves_of(to), P{record.phase}, to));
  SUPERSTEP_TRANSITION(record, P{record.phase}, to);
  record.phase.now_ = to;
}

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#pragma once

// Hooks of the simulator (tests/unit/actors/simulator), which compiles the sources of this folder
// with SUPERSTEP_SIMULATION. In all other builds they expand to nothing.
//
// SUPERSTEP_YIELD()                        other simulated threads may run here
// SUPERSTEP_MUTANT(name)                   whether the deliberate fault `name` is switched on
// SUPERSTEP_KEEP(pointer)                  keeps an object alive until the simulation ends
// SUPERSTEP_TRANSITION(record, from, to)   reports a change of a phase, for coverage

#ifdef SUPERSTEP_SIMULATION

#  include <cstdint>
#  include <memory>
#  include <typeinfo>

namespace superstep::simulation {

/// The deliberate faults. Each is one condition in the sources of this folder. The tests check that
/// the simulator finds each of them.
enum class mutant : std::uint8_t {
  none,
  drop_ready_entry,     ///< a queued run is not entered into the ready queue
  keep_lease,           ///< the lease of a run that ended while it waited is never released
  leave_outcome,        ///< the output of an abandoned or failed attempt stays in its record
  skip_child_on_cancel, ///< one open call survives the end of its run
  call_back_twice,      ///< the callback of a run is called a second time
  apply_half_a_step,    ///< the last output of a step with several tasks is not applied
  keep_timer,           ///< the timer of an ended call or run still fires
  forget_monitor,       ///< the death of an actor is not reported to its lane
  reorder_failures,     ///< the failure that happened last is reported
  lose_heartbeat,       ///< a heartbeat does not count as progress
  resume_twice,         ///< an ended wait is entered twice into the ready queue
  start_after_end,      ///< a forked call that waits for its start outlives its run
  lose_wakeup,          ///< the end of an offloaded body does not queue its run
  forget_reader,        ///< a run that waits for its reader is not resumed
  lose_retry,           ///< a retry that is due is not started
  lose_moved_cancel,    ///< the cancellation of a run that was moved to another lane is lost
};

/// Whether a fault is switched on.
[[nodiscard]] bool is_on(mutant m) noexcept;
/// Lets other simulated threads run.
void yield() noexcept;
/// Keeps an object alive until the end of the simulated schedule.
void keep(std::shared_ptr<const void> object);
/// Counts a change of a phase.
/// @param machine the type of the phases
void count_transition(const std::type_info& machine, int from, int to) noexcept;

} // namespace superstep::simulation

#  define SUPERSTEP_YIELD() ::superstep::simulation::yield()
#  define SUPERSTEP_MUTANT(name)                                                                   \
    ::superstep::simulation::is_on(::superstep::simulation::mutant::name)
#  define SUPERSTEP_KEEP(pointer) ::superstep::simulation::keep(pointer)
#  define SUPERSTEP_TRANSITION(record, from, to)                                                   \
    ::superstep::simulation::count_transition(typeid(to), static_cast<int>(from),                  \
                                              static_cast<int>(to))

#else

#  define SUPERSTEP_YIELD() static_cast<void>(0)
#  define SUPERSTEP_MUTANT(name) false
#  define SUPERSTEP_KEEP(pointer) static_cast<void>(0)
#  define SUPERSTEP_TRANSITION(record, from, to) static_cast<void>(0)

#endif

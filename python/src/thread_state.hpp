// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/runtime/run_config.hpp>
#include <superstep/threads/snapshot.hpp>

#include <functional>
#include <string>

#include <nanobind/nanobind.h>

namespace superstep::python {

namespace nb = nanobind;

// What get_state(), get_state_history() and update_state() of agents and graphs share. The caller
// holds the GIL.

/// Returns the values of a snapshot as a dict.
using values_reader = std::function<nb::object(const state_snapshot&)>;

/// Returns the thread and the checkpoint that options of a run name.
[[nodiscard]] detail::thread_place place_of(const run_config& config);
/// Returns the state of a thread as (values, next, interrupts, checkpoint_id).
[[nodiscard]] nb::object read_state(const detail::program_ptr& program, nb::dict options,
                                    const values_reader& values);
/// Returns the states of a thread at its checkpoints, newest first, as read_state() does.
[[nodiscard]] nb::list read_state_history(const detail::program_ptr& program, nb::dict options,
                                          std::size_t limit, const values_reader& values);
/// Writes to a thread as a node would, and returns the id of the new checkpoint. Waits for a run
/// that holds the thread, up to edit_timeout, and ends the wait if a signal handler raises, for
/// example KeyboardInterrupt.
[[nodiscard]] std::string write_state(const detail::program_ptr& program, const run_config& config,
                                      const detail::state_edit& edit);

} // namespace superstep::python

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/checkpoint/checkpointer.hpp>
#include <superstep/runtime/run_config.hpp>
#include <superstep/runtime/update.hpp>

#include <nanobind/nanobind.h>

namespace superstep::python {

namespace nb = nanobind;

/// Reads the options of a run from a dict with the keyword arguments of invoke(): thread_id,
/// run_id, recursion_limit, max_concurrency, deadline (seconds), tags, metadata, configurable,
/// durability, checkpoint_id, interrupt_before, interrupt_after. The caller holds the GIL.
/// @throws nb::type_error or nb::value_error with the name of the wrong option
[[nodiscard]] run_config read_run_options(nb::dict options);

/// Reads a list of str.
[[nodiscard]] std::vector<std::string> read_names(nb::handle from, const std::string& where);

/// Reads a resume value: a dict whose keys are all ids of interrupts, or any other value.
[[nodiscard]] superstep::resume read_resume(nb::handle value);

/// Returns interrupts as a list of superstep.Interrupt.
[[nodiscard]] nb::list to_python(const std::vector<interrupt>& interrupts);

} // namespace superstep::python

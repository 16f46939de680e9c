// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/step.hpp"

#include <superstep/checkpoint/checkpointer.hpp>

#include <string>
#include <string_view>

// Functions for reading (snapshot.cpp) and editing (state_edit.cpp) a saved thread.
namespace superstep::detail {

[[noreturn]] void throw_graph_error(graph_errc code, std::string text);
/// Throws graph_error{no_checkpointer}.
[[nodiscard]] checkpointer& checkpointer_of(const program&);
[[nodiscard]] std::string path_of(const program&, const step_task&);
[[nodiscard]] const task_record* record_of(const saved_checkpoint&, std::string_view path);
/// Applies the recorded outputs of a prepared step's tasks; does nothing if there are none.
void apply_finished(run_state&, super_step&, const saved_checkpoint&);
/// Applies the writes that callers' commands added to the checkpoint.
void apply_callers_writes(run_state&, const saved_checkpoint&);

} // namespace superstep::detail

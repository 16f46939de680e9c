// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/step.hpp"

#include <superstep/checkpoint/checkpointer.hpp>

#include <string>
#include <string_view>

// What reading and editing a saved thread share.
namespace superstep::detail {

[[noreturn]] void throw_graph_error(graph_errc code, std::string text);
/// Throws graph_error{no_checkpointer}.
[[nodiscard]] checkpointer& checkpointer_of(const program&);
[[nodiscard]] std::string path_of(const program&, const step_task&);
[[nodiscard]] const task_record* record_of(const saved_checkpoint&, std::string_view path);
/// Applies what tasks of a prepared step gave before it broke off; nothing when none did.
void apply_finished(run_state&, super_step&, const saved_checkpoint&);
/// Applies what a caller wrote to the checkpoint.
void apply_callers_writes(run_state&, const saved_checkpoint&);

} // namespace superstep::detail

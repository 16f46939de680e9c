// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/step.hpp"

#include <superstep/checkpoint/checkpointer.hpp>
#include <superstep/threads/snapshot.hpp>

#include <string>

// Helpers that are shared by the code that reads a saved thread (snapshot.cpp) and the code that
// edits one (state_edit.cpp). Defined in snapshot.cpp.
namespace superstep::detail {

[[noreturn]] void throw_graph_error(graph_errc code, std::string text);
/// Returns the checkpointer of a graph; throws graph_error{no_checkpointer} if it has none.
[[nodiscard]] checkpointer& checkpointer_of(const program&);
/// Throws graph_error{invalid_argument} if the thread has no name, and
/// graph_error{unknown_checkpoint} if the namespace belongs to a subgraph of the graph. Its
/// checkpoints have the state of the subgraph, and only its own graph can read them.
void check_place(const program&, const thread_place&);
[[nodiscard]] std::string path_of(const program&, const step_task&);
/// Records the outputs of those tasks of a prepared step that have ended.
void record_finished(const run_state&, super_step&, const saved_checkpoint&);
/// Records these outputs and applies them as get_state() shows them; does nothing if there are
/// none.
void apply_finished(run_state&, super_step&, const saved_checkpoint&);
/// Applies the writes of commands with which callers have resumed the thread after this checkpoint.
void apply_callers_writes(run_state&, const saved_checkpoint&);

} // namespace superstep::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/runtime/detail/program.hpp>

#include <string>
#include <string_view>

namespace superstep::detail {

/// Runs a graph as part of a body's task. Returns the last state of the graph, or its command to
/// the parent. Throws the error of the nested run. If the nested run is interrupted, so is the
/// body: its coroutine is not resumed.
/// @param services the services of the body that awaits the result
[[nodiscard]] task<nested_outcome> run_nested(call_services* services, program_ptr table,
                                              write_list input);

/// Returns the text for the fault that a graph which keeps its state between calls gets a whole
/// state as its input.
/// @param caller names the function that returns the input
[[nodiscard]] std::string whole_state_fault(std::string_view caller, const program& child);
/// Throws graph_error{invalid_graph} if the graph keeps its state between calls.
void check_whole_input(std::string_view caller, const program& child);
/// Throws graph_error{no_parent}: a graph that a body runs returned a command to its parent.
[[noreturn]] void throw_no_parent();

} // namespace superstep::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/runtime/detail/program.hpp>

#include <string>
#include <string_view>

namespace superstep::detail {

/// Runs a graph as part of the task of a body, and returns its last state or its command to the
/// parent. Throws the error of the nested run. If the nested run is interrupted, the body is
/// suspended for the same interrupts.
/// @param services those of the body that awaits the result
[[nodiscard]] task<nested_outcome> run_nested(call_services* services, program_ptr table,
                                              write_list input);

/// Returns the text of the fault that a graph which keeps its state between calls is given a whole
/// state in each call.
/// @param caller names the function that returns the state
[[nodiscard]] std::string whole_state_fault(std::string_view caller, const program& child);
/// Throws graph_error{invalid_graph} if the graph keeps its state between calls.
void check_whole_input(std::string_view caller, const program& child);
/// Throws graph_error{no_parent}: a graph that a body runs returned a command to its parent.
[[noreturn]] void throw_no_parent();

} // namespace superstep::detail

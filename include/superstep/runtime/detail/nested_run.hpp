// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/runtime/detail/program.hpp>

#include <string>
#include <string_view>

namespace superstep::detail {

/// Runs a graph below the task of a body. Gives its state, or what it told its parent. Throws what
/// it failed with. When it stops for questions the body stops, too, for the same questions.
/// @param services of the body that awaits it
[[nodiscard]] task<nested_outcome> run_nested(call_services* services, program_ptr table,
                                              write_list input);

/// Why a graph that keeps its state between calls may not get a whole state from each of them.
/// @param caller names the function that returns it
[[nodiscard]] std::string whole_state_fault(std::string_view caller, const program& child);
/// Throws graph_error{invalid_graph} if the graph keeps its state between calls.
void check_whole_input(std::string_view caller, const program& child);
/// Throws graph_error{no_parent}: a graph that a body runs gave a command to its parent.
[[noreturn]] void throw_no_parent();

} // namespace superstep::detail

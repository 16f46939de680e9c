// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/runtime/program.hpp>

namespace superstep {

/// Runs a graph below the task of a body. Gives its state, or what it told its parent. Throws what
/// it failed with. When it stops for questions the body stops, too, for the same questions.
/// @param services of the body that awaits it
[[nodiscard]] task<nested_outcome> run_nested(call_services* services, program_ptr table,
                                              write_list input);

} // namespace superstep

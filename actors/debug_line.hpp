// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/actors/detail/run_event.hpp>

#include <string>

namespace superstep {

/// Returns the line that compile_options::debug prints of an event of the modes `updates` or
/// `values`, as LangGraph's `debug` does, with JSON for Python; empty for events of other modes.
///
///     [updates] {"agent":{"messages":[…]}}
///     [values] {"messages":[…]}
///
/// Fields that no checkpoint could keep are left out. Events of subgraphs say whose they are.
/// @param outermost the graph that was run
[[nodiscard]] std::string to_debug_line(const detail::run_event& event,
                                        const detail::program& outermost);

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/actors/detail/run_event.hpp>

#include <string>

namespace superstep {

/// Returns the line that compile_options::debug prints for an event of mode `updates` or `values`;
/// empty for events of other modes. The format is that of LangGraph's `debug` option, with JSON
/// instead of Python's notation:
///
///     [updates] {"agent":{"messages":[…]}}
///     [values] {"messages":[…]}
///
/// Fields that cannot be stored in a checkpoint are omitted. Events of subgraphs contain the path
/// of the subgraph.
/// @param outermost the program of the graph that was run
[[nodiscard]] std::string to_debug_line(const detail::run_event& event,
                                        const detail::program& outermost);

} // namespace superstep

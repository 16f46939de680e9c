// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/actors/run_event.hpp>

#include <string>

namespace superstep {

/// What the reference's `debug` prints of a run, a line for each event of the modes `updates` and
/// `values`, with JSON where it has Python; empty for events of other modes.
///
///     auto events = lanes.stream(agent, input, stream_mode::updates | stream_mode::values);
///     while (auto e = events.next())
///       std::cout << to_debug_line(*e, *agent.table());
///
///     [updates] {"agent":{"messages":[…]}}
///     [values] {"messages":[…]}
///
/// Fields that no checkpoint could keep are left out. Events of subgraphs say whose they are.
/// @param outermost the graph that was run
[[nodiscard]] std::string to_debug_line(const run_event& event, const program& outermost);

} // namespace superstep

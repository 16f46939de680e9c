// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/tools/tool.hpp>

#include <chrono>

namespace superstep {

/// The same tool with so much time for each call, wherever it runs: beside its siblings in one
/// activation, in an activation of its own, or called by a program. When the time is over the call
/// is answered with an error that says so, whatever the node's tool_errors, and its siblings keep
/// what they gave. Waiting for a turn or for a person is no part of the time.
///
/// A coroutine is destroyed where it waits. A plain function cannot be: tool_context::stop tells
/// it, and what it gives later counts for nothing, but its step waits for it to return. Agents that
/// give each call an activation of its own can do without it: agent_options::tool_timeouts.
/// @param length at least 1 ms
[[nodiscard]] tool_ptr with_time_limit(tool_ptr, std::chrono::milliseconds length);

} // namespace superstep

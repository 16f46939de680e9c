// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/tools/tool.hpp>

#include <chrono>

namespace superstep {

/// Returns the tool with a timeout for each call, wherever the call runs: beside others in one
/// activation, in an activation of its own, or called directly. A call that exceeds it is answered
/// with an error, independent of the node's tool_errors; other calls of the activation keep their
/// results. Waiting for tool limits or for a person does not count.
///
/// A coroutine is destroyed where it is suspended. A blocking function cannot be stopped: it is
/// notified by tool_context::stop, and its result is discarded, but its step waits until it
/// returns. Agents that give each call an activation of its own can use
/// agent_options::tool_timeouts instead.
/// @param length at least 1 ms
[[nodiscard]] tool_ptr with_time_limit(tool_ptr, std::chrono::milliseconds length);

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/tools/tool.hpp>

#include <chrono>

namespace superstep {

/// Returns a tool that does not run a second time for a call that has already ended. Its result is
/// stored with the thread before the call counts as answered, and is found there when the
/// super-step is run again. Before a call runs, the checkpoint that it follows from is saved.
/// docs/durability.md describes the guarantees.
///
/// They differ for a call that started in a process that died before the end was stored. An
/// idempotent() tool is run again with the same tool_context::idempotency_key(). A journaled() tool
/// is not: the model reads that the outcome is unknown. A tool that throws or interrupts the run
/// counts as having had no effect.
///
/// In a run without a checkpointer nothing is stored.
/// @pre the tool is not null
/// @{
[[nodiscard]] tool_ptr idempotent(tool_ptr);
[[nodiscard]] tool_ptr journaled(tool_ptr);
/// @}

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

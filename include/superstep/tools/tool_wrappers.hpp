// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/tools/tool.hpp>

#include <chrono>

namespace superstep {

/// The same tool, not run a second time for a call that has ended: what it gave is noted with the
/// thread before the call counts as answered, and found there when the super-step is run again.
/// Both also wait until the checkpoint that the call follows from is saved. docs/durability.md says
/// what is promised and what is not.
///
/// A call that had begun in a process that was lost before its end was noted is run again, with the
/// same idempotency key, when the tool is idempotent. A journaled one is not: the model is told
/// that what became of it is not known. A tool that throws, or asks a question, has had no effect.
///
/// In a run that is not kept nothing is noted.
/// @{
[[nodiscard]] tool_ptr idempotent(tool_ptr);
[[nodiscard]] tool_ptr journaled(tool_ptr);
/// @}

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

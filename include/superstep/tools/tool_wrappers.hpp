// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/tools/tool.hpp>

#include <chrono>

namespace superstep {

/// Returns a tool that does not run a second time for a call that has already ended. The result of
/// a call is stored with the thread before the call counts as answered, and is read from there when
/// the super-step is run again. A call starts only after the checkpoint before its super-step is
/// saved.
///
/// The two functions differ for a call whose process died before its result was stored. An
/// idempotent() tool is run again, with the same tool_context::idempotency_key(). A journaled()
/// tool is not run again, and the model reads that the outcome is unknown. A call that throws or
/// interrupts the run counts as having had no effect. Only std::bad_alloc is different: memory may
/// have run out after the effect, so the call is treated as if its process had died.
///
/// In a run without a checkpointer nothing is stored. A call whose record cannot be stored throws
/// checkpoint_error. docs/durability.md describes the guarantees.
///
/// The given tool must not be null; the returned tool shares it. Both functions may be called from
/// any thread.
/// @{
[[nodiscard]] tool_ptr idempotent(tool_ptr);
[[nodiscard]] tool_ptr journaled(tool_ptr);
/// @}

/// Returns the tool with a timeout for each call, whether the node `tools` runs all calls of an
/// answer in one task or each call in its own task. A call that exceeds the timeout is answered
/// with an error, independent of the node's tool_errors. Other calls of the same task keep their
/// results. Waiting for tool limits or for a person does not count.
///
/// At the timeout, the coroutine of a suspended tool is destroyed. A blocking function cannot be
/// stopped: it is notified by tool_context::stop, and its result is discarded, but its super-step
/// waits until it returns. Agents that run each call in its own task can use
/// agent_options::tool_timeouts instead.
///
/// The given tool must not be null; the returned tool shares it. The function may be called from
/// any thread, and the returned tool by any number of threads at once.
/// @param length at least 1 ms
[[nodiscard]] tool_ptr with_timeout(tool_ptr, std::chrono::milliseconds length);

} // namespace superstep

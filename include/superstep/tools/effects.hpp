// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/tools/tool.hpp>

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

} // namespace superstep

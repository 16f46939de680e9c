// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/runtime/runtime.hpp>
#include <superstep/tools/tool.hpp>

namespace superstep {

/// Copies the members that describe the calling task from its runtime: run_key, node, attempt,
/// step, task_index, stop, deadline, place and unsaved_thread.
void set_task(tool_context& context, const runtime& task);

} // namespace superstep

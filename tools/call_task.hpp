// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/runtime/runtime.hpp>
#include <superstep/tools/tool.hpp>

#include <memory>

namespace superstep {

/// Copies the members that describe the calling task from its runtime: run_key, node, attempt,
/// step, task_index, stop, deadline and place.
void set_task(tool_context& context, const runtime& task);

/// Sets the place of a task whose run is not saved; see tool_context::place.
void set_unsaved_place(tool_context& context, const std::shared_ptr<const run_config>& config);

} // namespace superstep

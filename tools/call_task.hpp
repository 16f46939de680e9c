// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/runtime/runtime.hpp>
#include <superstep/tools/tool.hpp>

#include <memory>
#include <utility>

namespace superstep {

/// Copies the members that describe the calling task from its runtime: run_key, node, attempt,
/// step, task_index, stop, deadline and place.
void set_task(tool_context& context, const runtime& task);

/// Sets tool_context::place for a task whose run is not saved.
/// @pre the run has a thread_id
void set_unsaved_place(tool_context& context, const std::shared_ptr<const run_config>& config);

/// Sets tool_context::place, except for runs without a thread_id that are not saved.
inline void set_place(tool_context& context, detail::task_place_ptr saved,
                      const std::shared_ptr<const run_config>& config) {
  context.place = std::move(saved);
  if (!context.place && !config->thread_id.empty())
    set_unsaved_place(context, config);
}

} // namespace superstep

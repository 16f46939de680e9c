// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/await.hpp>
#include <superstep/tools/tool.hpp>

#include <utility>

namespace superstep::testing {

/// Runs one call of a tool on this thread.
inline tool_output run_tool(const tool& t, json::object args, tool_context context = {}) {
  auto call = tool_call{"c1", t.definition().name, std::move(args)};
  return sync_wait(t.run(call, context));
}

} // namespace superstep::testing

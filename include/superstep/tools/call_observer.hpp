// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string_view>

namespace superstep {

/// Receives notifications of the calls that a tool_node runs; see tool_context::observer.
///
/// A call starts after it has waited for its limits and before its arguments are checked. It ends
/// exactly once, also if it is cancelled.
/// @par Threads
/// All members may be called by any thread. They must be short and must not throw.
class call_observer {
public:
  virtual ~call_observer() = default;
  /// Called when a call starts.
  /// @param call_id id of the tool call
  virtual void on_start(std::string_view call_id) const = 0;
  /// Called when a call ends.
  /// @param took duration since on_start(); negative if the call was cancelled
  virtual void on_end(std::string_view call_id, std::chrono::nanoseconds took) const = 0;
};

} // namespace superstep

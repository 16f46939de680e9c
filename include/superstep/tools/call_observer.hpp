// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string_view>

namespace superstep {

/// Is notified of the calls that a tool_node runs (tool_context::observer).
///
/// A call is notified after it has waited for its limits and before its arguments are checked. It
/// ends once, also when it is given up: then its frame ends it.
/// @par Threads
/// Both members from any thread. They must be short and must not throw.
class call_observer {
public:
  virtual ~call_observer() = default;
  /// @param call_id id of the tool call
  virtual void on_start(std::string_view call_id) const = 0;
  /// @param took time since on_start() by the clock of the call's home; negative: the call was
  /// given up
  virtual void on_end(std::string_view call_id, std::chrono::nanoseconds took) const = 0;
};

} // namespace superstep

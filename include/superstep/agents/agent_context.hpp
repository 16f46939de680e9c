// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

namespace superstep {

/// Durations of the tool calls of one run. Stored beside the state, because a state must not depend
/// on a clock. Batch rows use them for the percentiles of the summary.
/// @par Threads
/// All members may be called by any thread.
class call_times {
public:
  /// Adds the duration of one call.
  void add(std::chrono::nanoseconds one) const;
  /// Returns the durations added so far and clears the list.
  [[nodiscard]] std::vector<std::chrono::nanoseconds> take() const;

private:
  mutable std::mutex mutex_;
  mutable std::vector<std::chrono::nanoseconds> times_;
};

/// Options of one run for the agents in it: pass them as run_config::context. Optional.
struct agent_context {
  json::object parameters{};                      ///< overrides of the model's parameters
  std::shared_ptr<const call_times> tool_times{}; ///< filled during the run if set
  /// Called with `tool_start` and `tool_end` and the id of the call, and with `model_start` and
  /// `model_end` and the number of the model's call in the run. A call that is given up ends too.
  /// `tool_discarded`: a call that was started early (agent_options::early_tools) was dropped,
  /// because the model's final answer does not contain it.
  ///
  /// Called by any thread. Must be short and must not throw. May be empty.
  std::function<void(std::string_view event, std::string_view call_id)> observe{};
};

} // namespace superstep

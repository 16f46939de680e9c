// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/messages/messages.hpp>
#include <superstep/runtime/runtime.hpp>

#include <cstddef>
#include <deque>
#include <mutex>

namespace superstep {

/// The results of tool calls that were started early, until the step of the tools takes them. If a
/// result is missing, or was displaced by more than `kept_max` others, the tool runs again; tools
/// that start early are declared safe for that.
/// @par Threads
/// All members may be called by any thread.
class early_results {
public:
  /// Stores a result.
  /// @param run any runtime of the run that the call belongs to
  void keep(runtime run, tool_call call, message_ptr answer) const;
  /// Returns and removes the result of a call; null if there is none.
  [[nodiscard]] message_ptr take(const runtime& run, const tool_call& call) const;

private:
  static constexpr auto kept_max = std::size_t{1'024};
  struct entry {
    runtime run; // identifies the run by the address of its config, which this copy keeps alive
    tool_call call;
    message_ptr answer;
  };
  mutable std::mutex mutex_;
  mutable std::deque<entry> kept_;
};

} // namespace superstep

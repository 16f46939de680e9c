// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/messages/messages.hpp>
#include <superstep/runtime/runtime.hpp>

#include <cstddef>
#include <deque>
#include <mutex>

namespace superstep {

/// The results of tool calls that were started early. The tool node takes them. If a result is
/// missing, the tool runs again, which is safe because only repeatable tools start early. A result
/// that is not taken is removed at the next model call of its run. When more than `kept_max`
/// results are stored, the oldest is removed.
/// @par Threads
/// All members may be called by any thread.
class early_results {
public:
  /// Stores a result.
  /// @param run any runtime of the run that the call belongs to
  void keep(runtime run, tool_call call, message_ptr answer) const;
  /// Returns the result of a call and removes it; null if there is no result.
  [[nodiscard]] message_ptr take(const runtime& run, const tool_call& call) const;
  /// Removes the results of the run. A jump of a hook may have kept the tool node from taking them.
  void drop(const runtime& run) const;

private:
  static constexpr auto kept_max = std::size_t{1'024};
  struct entry {
    runtime run; // the address of its config identifies the run; the copy keeps the config alive
    tool_call call;
    message_ptr answer;
  };
  mutable std::mutex mutex_;
  mutable std::deque<entry> kept_;
};

} // namespace superstep

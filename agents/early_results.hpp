// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/messages/messages.hpp>
#include <superstep/runtime/runtime.hpp>

#include <cstddef>
#include <deque>
#include <mutex>

namespace superstep {

/// Answers to calls that were started while the model still spoke, until the step that runs calls
/// asks for them. An answer that is not there, or is pushed out by more than `kept_max` others,
/// is made again by running the tool, which was declared fit for that.
/// @par Threads
/// Both members from any thread.
class early_results {
public:
  /// @param run any runtime of the run that the call belongs to
  void keep(runtime run, tool_call call, message_ptr answer) const;
  /// Null: there is none. An answer is given once.
  [[nodiscard]] message_ptr take(const runtime& run, const tool_call& call) const;

private:
  static constexpr auto kept_max = std::size_t{1'024};
  struct entry {
    runtime run; // its configuration is what runs are told apart by, and must not go meanwhile
    tool_call call;
    message_ptr answer;
  };
  mutable std::mutex mutex_;
  mutable std::deque<entry> kept_;
};

} // namespace superstep

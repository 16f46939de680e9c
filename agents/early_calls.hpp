// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "agents/call_listener.hpp"
#include "agents/early_results.hpp"

#include <superstep/base/await.hpp>

#include <functional>
#include <string>
#include <vector>

namespace superstep {

/// The calls of one answer that are started while it is still arriving, each in an actor of its own
/// beside the actor that calls the model.
/// @par Threads
/// Used only in the executor of the calling coroutine. Destroying it cancels the calls.
class early_calls {
public:
  /// The agent's functions for early calls.
  struct ways {
    std::function<bool(const std::string& tool)> is_safe;   // whether calls may start early
    std::function<task<message_ptr>(const tool_call&)> run; // null: there is no result to keep
    std::function<void(const tool_call&, message_ptr answer)> keep;
    std::function<void(const tool_call&)> discard; // notifies of a dropped call; may be empty
  };
  /// @param at executor of the coroutine that calls the model
  early_calls(ways how, execution_context& at) : how_{std::move(how)}, at_{at} {}

  /// Starts the calls that this piece completes.
  void hear(const message_chunk& piece);
  /// Waits for all started calls. Keeps the results of those that the final answer contains, and
  /// discards the others. To be called once.
  [[nodiscard]] task<void> end(std::vector<tool_call> said);

private:
  struct started {
    tool_call call;
    std::shared_ptr<detail::outcomes<message_ptr>> outcome;
    boost::intrusive_ptr<fork_join> join;
  };
  ways how_;
  execution_context& at_;
  call_listener listener_;
  std::vector<started> started_;
};

} // namespace superstep

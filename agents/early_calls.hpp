// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "agents/call_listener.hpp"
#include "agents/early_results.hpp"

#include <superstep/base/await.hpp>

#include <functional>
#include <string>
#include <vector>

namespace superstep {

/// The calls of one answer that are started while the model still speaks, each in an actor of its
/// own beside the call that asks the model.
/// @par Threads
/// Used where the asking coroutine lives; goes away with it, and the calls do so too.
class early_calls {
public:
  /// What the agent does about calls.
  struct ways {
    std::function<bool(const std::string& tool)> is_safe;
    std::function<task<message_ptr>(const tool_call&)> run; // null: nothing to keep
    std::function<void(const tool_call&, message_ptr answer)> keep;
    std::function<void(const tool_call&)> discard; // empty: nobody counts
  };
  /// @param at where the model is asked
  early_calls(ways how, execution_context& at) : how_{std::move(how)}, at_{at} {}

  /// Starts the calls that this piece has completed.
  void hear(const message_chunk& piece);
  /// Waits for all that was started. Keeps the answers to calls that stand in `said`, and throws
  /// away the others. Called once.
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

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "agents/call_listener.hpp"
#include "agents/early_results.hpp"

#include <superstep/base/await.hpp>

#include <functional>
#include <string>
#include <vector>

namespace superstep {

/// Starts the tool calls of one answer while the answer is still arriving. Each call runs in an
/// actor of its own, beside the actor that calls the model.
/// @par Threads
/// Used only on the executor of the coroutine that calls the model. The destructor cancels the
/// calls.
class early_calls {
public:
  /// The functions by which an agent controls its early calls.
  struct ways {
    // Whether calls of the tool may start early.
    std::function<bool(const std::string& tool)> is_safe;
    std::function<task<message_ptr>(const tool_call&)> run; // null: no result to keep
    std::function<void(const tool_call&, message_ptr answer)> keep;
    std::function<void(const tool_call&)> discard; // reports a discarded call; may be empty
  };
  /// @param at executor of the coroutine that calls the model
  early_calls(ways how, execution_context& at) : how_{std::move(how)}, at_{at} {}

  /// Starts the calls that are complete after this piece.
  void add(const message_chunk& piece);
  /// Waits for all started calls. Keeps the results of calls that the final answer contains, and
  /// discards the others. If a call was started, starts the remaining calls of the answer too, so
  /// that they need not wait for the others to end. Must be called once.
  [[nodiscard]] task<void> end(std::vector<tool_call> said);

private:
  struct started {
    tool_call call;
    std::shared_ptr<detail::outcomes<message_ptr>> outcome;
    boost::intrusive_ptr<fork_join> join;
    bool is_said = false; ///< whether the final answer contains the call
  };
  void start(tool_call call);
  void compare(std::vector<tool_call> said);

  ways how_;
  execution_context& at_;
  call_listener listener_;
  std::vector<started> started_;
};

} // namespace superstep

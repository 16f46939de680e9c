// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/runtime/detail/node_body.hpp>
#include <superstep/tools/tool_node.hpp>

namespace superstep::detail {

/// Runs a tool call as the body of a node, without a coroutine of the tool node: the task of the
/// body is that of the tool. Such a call needs a third of the memory while it waits.
class direct_call {
public:
  /// Returns the state that tools may read.
  using state_function = tool_state_ptr (*)(const body_input&);

  /// Returns the task of a call, or an empty one if the call must be run by tool_node::run(): its
  /// tool is unknown, it must wait for a limit, or the node has an interceptor or precomputed
  /// results. Throws the exceptions that fail the node before the call runs.
  /// @param call must live as long as the body
  /// @param state called if the tool may read the state
  /// @param observer notified of the call; null: none
  [[nodiscard]] static body_task begin(const tool_node& node, const tool_call& call,
                                       const body_input& given, state_function state,
                                       std::shared_ptr<const call_observer> observer);
  /// Returns the answer to a call whose task has ended. Throws failures that the options of the
  /// node do not answer.
  [[nodiscard]] static tool_answer end(const tool_node& node, const tool_call& call,
                                       body_task& ended);
};

} // namespace superstep::detail

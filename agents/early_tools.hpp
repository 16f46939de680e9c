// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "agents/early_calls.hpp"
#include "agents/early_results.hpp"

#include <superstep/agents/detail/react_loop.hpp>
#include <superstep/tools/tool_node.hpp>

#include <memory>
#include <string>
#include <vector>

namespace superstep {

/// The tools of an agent whose calls may start while the model's answer is still arriving, and the
/// results of such calls. An agent has one object, which its nodes share.
class early_tools {
public:
  /// @pre each name is the name of a tool
  early_tools(tool_node tools, std::vector<std::string> names);

  /// Returns the object that starts the calls of one answer; null in the run's last step, because
  /// no call of the answer will run. Early calls run like calls of the tool node, but without a
  /// state: the state of the next step does not exist yet.
  /// @param at executor of the coroutine that calls the model
  /// @param asked the options that the caller passed in the run's context; may be null
  [[nodiscard]] static std::shared_ptr<early_calls> begin(const react::early_ptr& tools,
                                                          const runtime& rt, execution_context& at,
                                                          const react::context_ptr& asked);

  /// Returns the result of an early call and removes it; null if there is no result.
  [[nodiscard]] message_ptr take(const runtime& rt, const tool_call& call) const {
    return results_.take(rt, call);
  }

private:
  tool_node tools_;
  std::vector<std::string> names_;
  early_results results_;
};

/// Requests a stream if the caller or the early calls need one, and passes the pieces to both.
/// Returns a flag that is set when the first piece was streamed to the caller; null if nothing
/// requests a stream.
[[nodiscard]] std::shared_ptr<const bool> listen(model_request& request, const runtime& rt,
                                                 const std::shared_ptr<early_calls>& early);

/// Waits for the model's answer and then for all early calls, even if the model failed. Returns the
/// answer or throws the model's exception.
[[nodiscard]] task<result<message>> await_with_stream(task<result<message>> asking,
                                                      std::shared_ptr<early_calls> early);

} // namespace superstep

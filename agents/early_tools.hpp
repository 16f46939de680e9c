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
/// results of these calls until the step of the tools takes them. One per agent, shared by its
/// node bodies.
class early_tools {
public:
  /// @pre each name is the name of a tool
  early_tools(tool_node tools, std::vector<std::string> names);

  /// Returns the object that starts the calls of one answer; null if its calls will not run at all,
  /// as in a last step. Early calls run as in the tool node, but without a state, which does not
  /// exist yet.
  /// @param at executor of the coroutine that calls the model
  /// @param asked the caller's options for the run; may be null
  [[nodiscard]] static std::shared_ptr<early_calls> begin(const react::early_ptr& tools,
                                                          const runtime& rt, execution_context& at,
                                                          const react::context_ptr& asked);

  [[nodiscard]] message_ptr take(const runtime& rt, const tool_call& call) const {
    return results_.take(rt, call);
  }

private:
  tool_node tools_;
  std::vector<std::string> names_;
  early_results results_;
};

/// Requests a stream if the caller or the early calls need one, and passes its pieces to both.
/// Returns a flag that becomes true when the first piece was streamed to the caller; null if the
/// answer is not streamed.
[[nodiscard]] std::shared_ptr<const bool> listen(model_request& request, const runtime& rt,
                                                 const std::shared_ptr<early_calls>& early);

/// Waits for the model's answer and then for all early calls, even if the model failed.
[[nodiscard]] task<result<message>> await_with_stream(task<result<message>> asking,
                                                      std::shared_ptr<early_calls> early);

} // namespace superstep

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

/// The tools of an agent whose calls may start while the model still speaks, and their answers
/// until the step that runs calls asks for them. One per agent, shared by its bodies.
class early_tools {
public:
  /// @pre each name is that of a tool
  early_tools(tool_node tools, std::vector<std::string> names);

  /// Returns what starts the calls of one answer of the model; null if the calls will not be run at
  /// all, as in a last step. They are run as in the node itself, but without the state around them,
  /// which does not exist yet.
  /// @param at where the model is asked
  /// @param asked what the caller of the run specifies; null: nothing
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

/// Has the pieces of the answer streamed, and heard by who starts calls early (null: nobody). What
/// it returns becomes true with the first piece that a stream is told of; null: nobody listens.
[[nodiscard]] std::shared_ptr<const bool> listen(model_request& request, const runtime& rt,
                                                 const std::shared_ptr<early_calls>& early);

/// The answer of a model, once every call that was started early has ended, whatever it says.
[[nodiscard]] task<result<message>> await_with_stream(task<result<message>> asking,
                                                      std::shared_ptr<early_calls> early);

} // namespace superstep

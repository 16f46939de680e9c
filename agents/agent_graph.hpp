// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/agent_file.hpp>
#include <superstep/agents/agent_options.hpp>
#include <superstep/checkpoint/checkpointer.hpp>
#include <superstep/checkpoint/store.hpp>
#include <superstep/runtime/graph.hpp>

#include <memory>
#include <vector>

namespace superstep::detail {

struct agent_graph_options {
  std::shared_ptr<superstep::checkpointer> checkpointer{};
  std::shared_ptr<store> memory{};
  /// Whether the agent uses the agent_context of its run. An agent that is used as a tool does not,
  /// because the context is meant for the calling agent.
  bool follows_context = true;
  /// Middleware of a program, around the parts that the agent file describes. If it wraps tool
  /// calls, the failures of tools reach the wrappers before they are answered.
  std::vector<superstep::middleware<chat_state>> middleware{};
};

/// Compiles the graph of an agent file. A call of a tool under review interrupts the run.
[[nodiscard]] compiled_graph<chat_state> make_agent_graph(const agent_spec& spec,
                                                          const chat_model_ptr& model,
                                                          const tool_list& tools,
                                                          agent_graph_options options);

} // namespace superstep::detail

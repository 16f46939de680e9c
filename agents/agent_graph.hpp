// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/agent_file.hpp>
#include <superstep/agents/agent_options.hpp>
#include <superstep/checkpoint/checkpointer.hpp>
#include <superstep/checkpoint/store.hpp>
#include <superstep/runtime/graph.hpp>

#include <memory>

namespace superstep::detail {

struct agent_graph_options {
  std::shared_ptr<superstep::checkpointer> checkpointer{};
  std::shared_ptr<store> memory{};
  /// Whether the agent applies the agent_context of its runs. An agent that is a tool does not,
  /// because the context is meant for the calling agent.
  bool follows_context = true;
};

/// Builds the graph of an agent file, for batch rows, conversations and tools. Calls of tools under
/// review interrupt the run.
[[nodiscard]] compiled_graph<chat_state> make_agent_graph(const agent_spec& spec,
                                                          const chat_model_ptr& model,
                                                          const tool_list& tools,
                                                          agent_graph_options options);

} // namespace superstep::detail

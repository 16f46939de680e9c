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
  /// Whether it follows the agent_context of its runs. An agent that is a tool does not: the
  /// context is for the agent that calls it.
  bool follows_context = true;
};

/// Builds the graph of an agent file, for rows, conversations and tools alike. The calls that the
/// file wants reviewed wait for a person.
[[nodiscard]] compiled_graph<chat_state> make_agent_graph(const agent_spec& spec,
                                                          const chat_model_ptr& model,
                                                          const tool_list& tools,
                                                          agent_graph_options options);

} // namespace superstep::detail

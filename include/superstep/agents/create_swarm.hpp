// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/agent_state.hpp>
#include <superstep/checkpoint/fwd.hpp>
#include <superstep/runtime/graph.hpp>

#include <memory>
#include <string>
#include <vector>

namespace superstep {

/// The state of a swarm.
struct swarm_state {
  message_list messages{};    ///< the conversation that all agents share
  std::string active_agent{}; ///< agent that the next turn begins with; empty: the default

  using reducers = superstep::reducers<by<&swarm_state::messages, add_messages>>;
};
BOOST_DESCRIBE_STRUCT(swarm_state, (), (messages, active_agent))

/// The options of create_swarm(). `agents` and `default_agent` are required.
struct swarm_options {
  /// The agents, each with a unique name and with the tools that hand over to others:
  /// make_handoff_tool({.agent = "bob", .active_key = "active_agent"}).
  std::vector<compiled_graph<messages_state>> agents{};
  std::string default_agent{}; ///< name of the agent that the first turn begins with
  std::string name = "swarm";                ///< of the graph
  std::shared_ptr<superstep::checkpointer>
      checkpointer{};                        ///< null: each turn begins with the default agent
  std::shared_ptr<superstep::store> store{}; ///< long-term memory; null: none
};

/// Builds a swarm: agents that hand the conversation over to each other. A turn begins with the
/// agent that was active last, and ends when an agent answers without handing over.
/// @throws compile_error if an agent has no name, two agents have the same name, or `default_agent`
/// is not one of them
/// Source: `create_swarm` in langgraph-swarm 0.0.14, swarm.py.
[[nodiscard]] compiled_graph<swarm_state> create_swarm(swarm_options options);

} // namespace superstep

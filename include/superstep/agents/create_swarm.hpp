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
  message_list messages{};
  std::string active_agent{}; ///< the agent that the next turn begins with; empty: the default

  using reducers = superstep::reducers<by<&swarm_state::messages, add_messages>>;
};
BOOST_DESCRIBE_STRUCT(swarm_state, (), (messages, active_agent))

/// Everything a swarm is made of. `agents` and `default_agent` are required.
struct swarm_options {
  /// The agents, each with a name that no other has and with the tools that hand over to others:
  /// make_handoff_tool({.agent = "bob", .active_key = "active_agent"}).
  std::vector<compiled_graph<messages_state>> agents{};
  std::string default_agent{}; ///< name of the agent that begins
  std::string name = "swarm";
  /// without one each turn begins with the default agent
  std::shared_ptr<superstep::checkpointer> checkpointer{};
  std::shared_ptr<superstep::store> store{};
};

/// Builds a swarm: agents that hand the conversation over to each other. A turn begins with the
/// agent that was active last, and ends when an agent answers without handing over. The rules are
/// those of langgraph-swarm 0.0.14.
/// @throws compile_error if an agent has no name, two have one name, or no agent is the default
[[nodiscard]] compiled_graph<swarm_state> create_swarm(swarm_options options);

} // namespace superstep

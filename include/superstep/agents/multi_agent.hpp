// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/agent_options.hpp>
#include <superstep/checkpoint/detail/fwd.hpp>
#include <superstep/runtime/graph.hpp>
#include <superstep/tools/tool.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace superstep {

/// How one agent hands the conversation over to another.
struct handoff_options {
  std::string agent{};       ///< the node of the other agent in the graph around both
  std::string name{};        ///< of the tool; empty: `transfer_to_AGENT`
  std::string description{}; ///< what the model reads; empty: that it asks that agent for help
  std::string active_key{};  ///< a key of the graph around, set to the agent's name; empty: none
};

/// Makes a tool that ends its agent and continues at another one: a Command to the parent with the
/// messages of the agent, of which the call's answer is the last.
///
/// The agents are nodes of one graph, which is a graph<State> for agents over described structs and
/// a json_graph for agents with a JSON state. create_supervisor() makes such tools for its agents.
/// In a swarm (create_swarm()) each agent has one for each other that it may hand over to, with
/// `active_key` set to `active_agent`: it names the agent that the next turn begins with.
///
/// Throws nothing; a run fails with graph_error{invalid_update} if the graph around the agent has no
/// such node or key.
[[nodiscard]] tool_ptr make_handoff_tool(handoff_options options);

/// Selects the messages that an agent adds to those of its team.
enum class team_output : std::uint8_t {
  last_message, ///< its last message
  full_history, ///< all its messages
};

/// Everything a supervisor is made of. `model` and `agents` are required.
struct supervisor_options {
  agent_model<messages_state> model{};
  /// The agents of the team, each with a name (agent_options::name) that no other has.
  std::vector<compiled_graph<messages_state>> agents{};
  tool_list tools{}; ///< of the supervisor, besides those that hand over
  agent_prompt<messages_state> prompt{};
  std::string name = "supervisor"; ///< of the supervisor's node and of its AI messages
  team_output output = team_output::last_message;
  /// Whether the messages record that an agent returns to the supervisor: an AI message that calls
  /// `transfer_back_to_NAME`, and its answer.
  bool records_returns = true;
  std::shared_ptr<superstep::checkpointer> checkpointer{};
  std::shared_ptr<superstep::store> store{};
};

/// Builds a team: an agent with a tool `transfer_to_NAME` for each agent of the team, and a node for
/// each of them. An agent that was handed the conversation sees all its messages, and returns to
/// the supervisor, which answers in the end. The rules are those of langgraph-supervisor 0.0.29.
///
///     auto team = create_supervisor({.model = "openai:gpt-4o", .agents = {mathematician, poet}});
///
/// Each handover costs two super-steps of the team; agents have limits of their own.
/// @throws compile_error if an agent has no name, two have one name, or the model is not valid
[[nodiscard]] compiled_graph<messages_state> create_supervisor(supervisor_options options);

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

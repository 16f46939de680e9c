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

/// The options of make_handoff_tool().
struct handoff_options {
  std::string agent{}; ///< the other agent's node in the parent graph
  /// Name of the tool. Empty: `transfer_to_AGENT`, with the name of the agent in lower case and `_`
  /// in place of white space.
  std::string name{};
  std::string description{}; ///< text for the model; empty: a default text
  std::string active_key{};  ///< key of the parent graph's state to set to `agent`; empty: none
};

/// Makes a tool that ends the agent that calls it and continues with another agent. Its result is a
/// Command to the parent graph with the agent's messages, followed by the answer to the call. Other
/// calls of the same answer run first; further handoffs are answered with an error.
///
/// The agents are nodes of one parent graph: a graph<State> for agents over described structs, a
/// json_graph for agents with a JSON state. create_supervisor() makes such tools by itself. In a
/// swarm (create_swarm()) each agent needs one for every agent that it may hand over to, with
/// `active_key` set to `active_agent`.
///
/// Does not throw, and may be called from any thread. A run fails with graph_error{invalid_update}
/// if the parent graph has no such node or key. A call outside a graph throws std::logic_error. The
/// tool may be called by any number of runs at once.
/// @param options `agent` must not be empty
///
/// Source: `create_handoff_tool` in langgraph-supervisor 0.0.29, handoff.py.
[[nodiscard]] tool_ptr make_handoff_tool(handoff_options options);

/// The messages of an agent that are added to those of its team.
enum class team_output : std::uint8_t {
  /// Only its last message. If a return_direct tool ended the agent: its last AI message, and the
  /// results that follow.
  last_message,
  full_history, ///< all its messages
};

/// The options of create_supervisor(). `model` and `agents` are required.
struct supervisor_options {
  agent_model<messages_state> model{}; ///< the supervisor's model
  /// The agents of the team, each with a unique name (agent_options::name).
  std::vector<compiled_graph<messages_state>> agents{};
  tool_list tools{}; ///< tools of the supervisor in addition to those that hand over
  agent_prompt<messages_state> prompt{}; ///< the supervisor's prompt
  std::string name = "supervisor";       ///< name of the supervisor's node and its AI messages
  /// The messages that the team keeps of an agent's work.
  team_output output = team_output::last_message;
  /// Whether to record in the messages that an agent returns to the supervisor: an AI message that
  /// calls `transfer_back_to_NAME`, and the answer to that call.
  bool records_returns = true;
  std::shared_ptr<superstep::checkpointer>
      checkpointer{};                        ///< where threads of the team are saved; null: nowhere
  std::shared_ptr<superstep::store> store{}; ///< long-term memory; null: none
};

/// Builds a team: a supervisor agent with a tool `transfer_to_NAME` for each agent of the team. An
/// agent that the conversation is handed to reads all its messages and returns to the supervisor,
/// which gives the final answer.
///
///     auto team = create_supervisor({.model = "openai:gpt-4o", .agents = {mathematician, poet}});
///
/// Each handover takes two super-steps of the team. The agents' own super-steps count against their
/// own recursion limits. May be called from any thread.
///
/// @param options see supervisor_options; the graph keeps model, agents and tools alive
/// @return the graph; it is immutable, and any number of runs may use it at once
/// @throws compile_error if an agent has no name, two agents have the same name, an agent has the
/// name of the supervisor, or the model is not valid
///
/// Source: `create_supervisor` in langgraph-supervisor 0.0.29, supervisor.py.
[[nodiscard]] compiled_graph<messages_state> create_supervisor(supervisor_options options);

/// The state of a swarm.
struct swarm_state {
  message_list messages{};    ///< the conversation that all agents share
  std::string active_agent{}; ///< agent that the next turn begins with; empty: the default

  /// New messages are merged with add_messages; `active_agent` keeps the last value written.
  using reducers = superstep::reducers<by<&swarm_state::messages, add_messages>>;
};
BOOST_DESCRIBE_STRUCT(swarm_state, (), (messages, active_agent))

/// The options of create_swarm(). `agents` and `default_agent` are required.
struct swarm_options {
  /// The agents, each with a unique name and with the tools that hand over to others:
  /// make_handoff_tool({.agent = "bob", .active_key = "active_agent"}).
  std::vector<compiled_graph<messages_state>> agents{};
  std::string default_agent{}; ///< name of the agent that the first turn begins with
  std::string name = "swarm";  ///< name of the graph
  /// Where threads are saved; null: nowhere, and each turn begins with the default agent.
  std::shared_ptr<superstep::checkpointer> checkpointer{};
  std::shared_ptr<superstep::store> store{}; ///< long-term memory; null: none
};

/// Builds a swarm: agents that hand the conversation over to each other. A turn begins with the
/// agent that was active last, and ends when an agent answers without handing over. May be called
/// from any thread.
///
/// @param options see swarm_options; the graph keeps the agents alive
/// @return the graph; it is immutable, and any number of runs may use it at once
/// @throws compile_error if an agent has no name, two agents have the same name, or `default_agent`
/// is not one of them
///
/// Source: `create_swarm` in langgraph-swarm 0.0.14, swarm.py.
[[nodiscard]] compiled_graph<swarm_state> create_swarm(swarm_options options);

} // namespace superstep

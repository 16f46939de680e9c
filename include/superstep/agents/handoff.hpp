// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/tools/tool.hpp>

#include <string>

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

} // namespace superstep

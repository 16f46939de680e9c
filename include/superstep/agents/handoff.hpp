// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/tools/tool.hpp>

#include <string>

namespace superstep {

/// How one agent hands the conversation over to another.
struct handoff_options {
  std::string agent;         ///< the node of the other agent in the graph around both
  std::string name{};        ///< of the tool; empty: `transfer_to_AGENT`
  std::string description{}; ///< what the model reads; empty: that it asks that agent for help
  std::string active_key{};  ///< a key of the graph around, set to the agent's name; empty: none
};

/// A tool that ends its agent and goes on at another one: a Command to the parent with the messages
/// of the agent, the call's answer being the last of them. For agents with a JSON state that are
/// nodes of one json_graph: a supervisor has one for each of its agents, and in a swarm each has
/// one for each other, `active_key` telling the graph where the next turn begins.
[[nodiscard]] tool_ptr make_handoff_tool(handoff_options options);

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/tools/tool.hpp>

#include <string>

namespace superstep {

/// The options of make_handoff_tool().
struct handoff_options {
  std::string agent{};       ///< the other agent's node in the parent graph
  std::string name{};        ///< of the tool; empty: `transfer_to_AGENT`
  std::string description{}; ///< for the model; empty: a default text
  std::string active_key{};  ///< key of the parent graph's state to set to `agent`; empty: none
};

/// Makes a tool that ends its agent and continues at another one. Its result is a Command to the
/// parent graph with the agent's messages, followed by the answer to the call.
///
/// The agents are nodes of one parent graph: a graph<State> for agents over described structs, a
/// json_graph for agents with a JSON state. create_supervisor() makes such tools by itself. In a
/// swarm (create_swarm()) each agent needs one for every agent that it may hand over to, with
/// `active_key` set to `active_agent`.
///
/// Does not throw. A run fails with graph_error{invalid_update} if the parent graph has no such
/// node or key.
/// Source: `create_handoff_tool` in langgraph-supervisor 0.0.29, handoff.py.
[[nodiscard]] tool_ptr make_handoff_tool(handoff_options options);

} // namespace superstep

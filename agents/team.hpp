// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/agent_options.hpp>
#include <superstep/runtime/graph.hpp>

#include <string>
#include <vector>

namespace superstep::detail {

/// Returns the names of agents that become nodes of one graph, in order. Throws compile_error if an
/// agent has no name, or a name that is not unique or equals `taken`.
[[nodiscard]] std::vector<std::string>
names_of(const std::vector<compiled_graph<messages_state>>& agents, const std::string& taken = {});

/// Returns the input of an agent of the team: the messages of the team's state.
template <class State>
messages_state messages_for_agent(const State& state) {
  auto out = messages_state{};
  out.messages = state.messages;
  return out;
}

} // namespace superstep::detail

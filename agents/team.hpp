// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/agent_options.hpp>
#include <superstep/runtime/graph.hpp>

#include <string>
#include <vector>

namespace superstep::detail {

/// The names of agents that become nodes of one graph, in their order. Throws compile_error if one
/// has no name, or the name of another or of `taken`.
[[nodiscard]] std::vector<std::string>
names_of(const std::vector<compiled_graph<messages_state>>& agents, const std::string& taken = {});

/// An agent's input: the messages of the state around it.
template <class State>
messages_state messages_for_agent(const State& state) {
  auto out = messages_state{};
  out.messages = state.messages;
  return out;
}

} // namespace superstep::detail

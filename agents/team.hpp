// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/agent_options.hpp>
#include <superstep/runtime/graph.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace superstep::detail {

/// Returns the names of the agents, in order; each becomes a node of the team's graph. Throws
/// compile_error if a name is missing, used twice or equal to `taken`.
[[nodiscard]] std::vector<std::string>
names_of(const std::vector<compiled_graph<messages_state>>& agents, const std::string& taken = {});

/// Returns the name of a handoff tool: the prefix and the agent's name in lower case, in which `_`
/// replaces white space. Providers reject names of tools with spaces. Only ASCII characters are
/// converted.
/// Source: `_normalize_agent_name` in langgraph-supervisor 0.0.29, handoff.py.
[[nodiscard]] std::string handoff_name(std::string prefix, std::string_view agent);

/// Returns the input for an agent of the team: all messages of the team's state.
template <class State>
messages_state messages_for_agent(const State& state) {
  auto out = messages_state{};
  out.messages = state.messages;
  return out;
}

} // namespace superstep::detail

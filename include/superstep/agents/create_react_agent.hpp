// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/agent_options.hpp>
#include <superstep/agents/detail/agent_builder.hpp>

#include <utility>

namespace superstep {

/// Builds the agent: the same nodes and rules as create_react_agent(json_agent_options), over a
/// described struct. Throws compile_error for whatever is wrong with the options.
/// @pre options.model is set
template <agent_state State>
[[nodiscard]] compiled_graph<State> create_react_agent(agent_options<State> options) {
  return detail::agent_builder<State>{std::move(options)}.build();
}

} // namespace superstep

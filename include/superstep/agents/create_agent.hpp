// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/agent_options.hpp>
#include <superstep/agents/detail/agent_builder.hpp>

#include <utility>

namespace superstep {

/// Builds an agent: a compiled graph that calls a model, runs the tools that its answer calls, and
/// repeats this until an answer calls no tools.
///
///     auto agent = create_agent({.model = "openai:gpt-4o-mini",
///                                .tools = {make_tool("weather", "Current weather.", weather)}});
///
/// Its nodes are `model`, `tools` (one activation per call) and one for each hook. Each hook is a
/// step, so a run with hooks may need a higher run_config::recursion_limit. A tool's failure
/// becomes an error message that the model reads. A failing model ends the run with its error.
///
/// @tparam State a described struct with `messages` (agent_state), or json::value (json_agent.hpp)
/// @returns compiled_graph<State>, or compiled_json_graph for json::value
/// @throws compile_error for invalid options, including a model spec that cannot be resolved
/// Source: `create_agent` in langchain 1.4.7, agents/factory.py.
template <class State = messages_state>
[[nodiscard]] auto create_agent(agent_options<State> options) {
  return detail::agent_builder<State>{std::move(options)}.build();
}

extern template class detail::agent_builder<messages_state>;

} // namespace superstep

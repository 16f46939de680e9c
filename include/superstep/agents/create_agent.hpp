// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/agent_options.hpp>
#include <superstep/agents/detail/agent_builder.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace superstep {

/// Builds an agent: a compiled graph that asks a model, runs the tools that its answer calls, and
/// asks again until an answer calls none.
///
///     auto agent = create_agent({.model = "openai:gpt-4o-mini",
///                                .tools = {make_tool("weather", "Current weather.", weather)}});
///
/// Its nodes are `model`, `tools` (an activation for each call) and those of the hooks. Each hook
/// is a step, so a run with hooks may need a higher run_config::recursion_limit. A tool's failure
/// becomes an error message that the model reads. A failing model ends the run.
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

/// The parameters of LangGraph's create_react_agent() under their original names. Members without a
/// description have the meaning of those in agent_options.
template <class State = messages_state>
struct react_agent_options {
  agent_model<State> model{};
  agent_tools tools{};
  agent_prompt<State> prompt{};
  /// The structured response, requested in a separate call after the loop.
  std::optional<superstep::response_format> response_format{};
  agent_hook<State> pre_model_hook{};
  agent_hook<State> post_model_hook{};
  agent_schema<State> state_schema{}; ///< channels of a JSON state
  std::shared_ptr<superstep::checkpointer> checkpointer{};
  std::shared_ptr<superstep::store> store{};
  std::vector<std::string> interrupt_before{};
  std::vector<std::string> interrupt_after{};
  bool debug = false;
  react_version version = react_version::v2;
  std::string name{};
  std::vector<std::string> return_direct{}; ///< a property of the tool in LangGraph
  std::vector<std::string> early_tools{};   ///< not in LangGraph
  bool answer_invalid_calls = false;        ///< not in LangGraph
};

/// Returns the options of the same agent, with the rules of create_react_agent().
template <class State>
[[nodiscard]] agent_options<State> to_agent_options(react_agent_options<State> o) {
  auto out = agent_options<State>{};
  out.name = std::move(o.name);
  out.model = std::move(o.model);
  out.tools = std::move(o.tools);
  out.prompt = std::move(o.prompt);
  out.response = std::move(o.response_format);
  out.pre_model_hook = std::move(o.pre_model_hook);
  out.post_model_hook = std::move(o.post_model_hook);
  out.return_direct = std::move(o.return_direct);
  out.early_tools = std::move(o.early_tools);
  out.version = o.version;
  out.rules = agent_rules::create_react_agent;
  out.answer_invalid_calls = o.answer_invalid_calls;
  out.state = std::move(o.state_schema);
  out.checkpointer = std::move(o.checkpointer);
  out.store = std::move(o.store);
  out.interrupt_before = std::move(o.interrupt_before);
  out.interrupt_after = std::move(o.interrupt_after);
  out.debug = o.debug;
  return out;
}

/// Builds an agent with the parameters of LangGraph's create_react_agent(): create_agent() with
/// agent_rules::create_react_agent. Its nodes are `agent`, `tools` and, if the options ask for
/// them, `pre_model_hook`, `post_model_hook` and `generate_structured_response`.
/// @returns compiled_graph<State>, or compiled_json_graph for json::value
/// @throws compile_error for invalid options
/// Source: `create_react_agent` in LangGraph 1.2.22, prebuilt/chat_agent_executor.py.
template <class State = messages_state>
[[nodiscard]] auto create_react_agent(react_agent_options<State> options) {
  return create_agent(to_agent_options(std::move(options)));
}

} // namespace superstep

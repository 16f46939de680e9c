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
/// Its nodes are `model`, `tools` (with react_version::v2, an activation for each call) and those
/// of the hooks. Each hook is a step, so a run with hooks may need a higher
/// run_config::recursion_limit. A tool's failure becomes an error message that the model reads. A
/// failing model ends the run.
///
/// Reads the files and environment variables of a model spec; sends no request. May be called from
/// any thread.
///
/// @tparam State a described struct with `messages` (agent_state), or json::value (json_agent.hpp)
/// @param options see agent_options; the graph keeps model, tools and functions alive
/// @returns compiled_graph<State>, or compiled_json_graph for json::value. It is immutable, and any
/// number of runs may use it at once.
/// @throws compile_error for invalid options, including a model spec that cannot be resolved
///
/// Source: `create_agent` in langchain 1.4.7, agents/factory.py.
template <class State = messages_state>
[[nodiscard]] auto create_agent(agent_options<State> options) {
  return detail::build_agent(std::move(options));
}

namespace detail {

// Compiled in the library, because the builder of an agent takes seconds to compile.
extern template compiled_graph<messages_state> build_agent(agent_options<messages_state>);
extern template compiled_graph<chat_state> build_agent(agent_options<chat_state>);

} // namespace detail

/// Options of create_react_agent(): the parameters of LangGraph's function under their original
/// names. agent_options describes the members of the same name in more detail.
/// @tparam State a described struct (agent_state), or json::value
template <class State = messages_state>
struct react_agent_options {
  agent_model<State> model{};   ///< a model, a spec such as "openai:gpt-4o-mini", or a function
  agent_tools tools{};          ///< a list, or a tool_node with options
  agent_prompt<State> prompt{}; ///< a system prompt, or a function that makes the model's input
  /// The structured response, requested in a separate call after the loop.
  std::optional<superstep::response_format> response_format{};
  agent_hook<State> pre_model_hook{};  ///< runs before each call of the model
  agent_hook<State> post_model_hook{}; ///< runs after each answer of the model; requires v2
  agent_schema<State> state_schema{};  ///< channels of a JSON state
  std::shared_ptr<superstep::checkpointer>
      checkpointer{};                          ///< where threads are saved; null: nowhere
  std::shared_ptr<superstep::store> store{};   ///< long-term memory of the tools; null: none
  std::vector<std::string> interrupt_before{}; ///< nodes to stop before; `*` for all
  std::vector<std::string> interrupt_after{};  ///< nodes to stop after; `*` for all
  bool debug = false;                          ///< see compile_options
  react_version version = react_version::v2;   ///< shape of the loop
  std::string name{}; ///< name of the graph and its AI messages; empty: no name
  /// Tools whose result ends the loop. In LangGraph this is a property of the tool.
  std::vector<std::string> return_direct{};
  std::vector<std::string> early_tools{}; ///< see agent_options; not in LangGraph
  bool answer_invalid_calls = false;      ///< see agent_options; not in LangGraph
};

/// Converts the options of create_react_agent() to those of create_agent(), with
/// agent_rules::create_react_agent. Does not check them. May be called from any thread.
/// @param o the options, which are moved to the result
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
/// May be called from any thread. The graph keeps model, tools and functions alive.
///
/// @tparam State a described struct (agent_state), or json::value
/// @param options see react_agent_options
/// @returns compiled_graph<State>, or compiled_json_graph for json::value
/// @throws compile_error for invalid options
///
/// Source: `create_react_agent` in LangGraph 1.2.22, prebuilt/chat_agent_executor.py.
template <class State = messages_state>
[[nodiscard]] auto create_react_agent(react_agent_options<State> options) {
  return create_agent(to_agent_options(std::move(options)));
}

} // namespace superstep

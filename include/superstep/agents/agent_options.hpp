// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/agent_context.hpp>
#include <superstep/agents/agent_parts.hpp>
#include <superstep/agents/agent_state.hpp>
#include <superstep/agents/middleware.hpp>
#include <superstep/checkpoint/fwd.hpp>
#include <superstep/messages/messages_input.hpp>
#include <superstep/runtime/graph.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace superstep {

/// The two shapes of an agent's loop. Both produce the same messages in the same order.
/// Source: `version` of `create_react_agent` in LangGraph 1.2.22, prebuilt/chat_agent_executor.py.
enum class react_version : std::uint8_t {
  v1, ///< one activation of `tools` runs all calls of an answer
  v2, ///< one Send per call: each call is a separate task in a separate actor
};

/// Selects the product whose rules an agent follows where the two differ.
enum class agent_rules : std::uint8_t {
  /// LangChain 1.x, create_agent(): the model's node is `model`, the structured response is
  /// requested in every call of the model, and a run that reaches its recursion limit fails.
  create_agent,
  /// LangGraph 1.x, create_react_agent(): the model's node is `agent`, and the structured response
  /// is requested in a separate call after the loop (node `generate_structured_response`). A run
  /// that reaches its recursion limit ends with an apology as its last message.
  create_react_agent,
};

/// A hook of an agent: a function of the state and the runtime that runs as a node of its graph.
template <class State>
class agent_hook {
public:
  /// An empty hook: no node is added.
  agent_hook() = default;
  /// @param f takes (const State&, runtime); returns nothing, update<State> or command<State>, or a
  /// task<> of one of these. Called by any number of runs at once.
  template <class F>
    requires(!std::same_as<std::remove_cvref_t<F>, agent_hook> &&
             std::invocable<const F&, const State&, runtime>)
  agent_hook(F f) {
    using made = std::invoke_result_t<const F&, const State&, runtime>;
    static_assert(detail::node_result<awaited_t<made>, State>,
                  "a hook returns nothing, update<State> or command<State>, or a task<> of these");
    call_ = [f = std::move(f)](const State& state, runtime rt) -> task<command<State>> {
      if constexpr (is_task_v<made>)
        return later(f(state, std::move(rt)));
      else if constexpr (std::is_void_v<made>)
        return f(state, std::move(rt)), ready(command<State>{});
      else
        return ready(as_command(f(state, std::move(rt))));
    };
  }
  /// Whether a function is set.
  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(call_); }
  /// Calls the function. The state must outlive the task.
  [[nodiscard]] task<command<State>> operator()(const State& state, runtime rt) const {
    return call_(state, std::move(rt));
  }

private:
  static command<State> as_command(command<State> c) { return c; }
  static command<State> as_command(update<State> u) { return {std::move(u), {}}; }
  template <class T>
  static task<command<State>> later(task<T> body) {
    auto done = command<State>{};
    if constexpr (std::is_void_v<T>)
      co_await body;
    else
      done = as_command(co_await body);
    co_return done;
  }

  std::function<task<command<State>>(const State&, runtime)> call_;
};

/// The channels of an agent whose state is JSON; see json_agent.hpp. Empty for described structs,
/// whose members are the channels.
template <class State>
struct agent_schema {};

/// The options of create_agent(). Only `model` is required.
/// @tparam State a described struct (agent_state), or json::value
template <class State = messages_state>
struct agent_options {
  std::string name{};         ///< of the graph and of its AI messages; empty: messages get no name
  agent_model<State> model{}; ///< a model, a spec such as "openai:gpt-4o-mini", or a function
  agent_tools tools{};        ///< a list, or a tool_node with options
  agent_prompt<State> prompt{}; ///< a system prompt, or a function that makes the model's input
  /// The value that the run ends with in addition to its messages; written to
  /// `structured_response`.
  std::optional<response_format> response{};
  /// Code around the parts of the loop; the first middleware is outermost. Names must be unique.
  std::vector<superstep::middleware<State>> middleware{};
  agent_hook<State> pre_model_hook{}; ///< runs before each call of the model
  /// Runs after each answer of the model, before its tool calls. It may answer, change or drop
  /// them. Requires version v2.
  agent_hook<State> post_model_hook{};
  /// Tools whose result ends the loop. Under the rules of create_agent(), only if the model's
  /// answer calls no other tools.
  std::vector<std::string> return_direct{};
  /// Timeouts of tool calls by the name of the tool, from 1 ms to 49 days. A call that takes longer
  /// is answered with an error that the model reads. Requires version v2.
  std::map<std::string, std::chrono::milliseconds> tool_timeouts{};
  /// Maximum number of tool calls in flight, over all runs of the agent; further calls wait. Unset:
  /// the limit of the tool_node, or no limit for a list of tools.
  std::optional<std::size_t> tool_calls_at_once{};
  /// Names of tools whose calls may start while the model's answer is still arriving, as soon as
  /// their arguments are complete. Only for tools that may run twice, or although the final answer
  /// does not call them: calls of an answer that breaks off are discarded, and a resumed run makes
  /// its calls again. Results wait for the step of the tools, so states, their order and
  /// checkpoints are the same as without. The model is asked for a stream.
  std::vector<std::string> early_tools{};
  react_version version = react_version::v2;     ///< shape of the loop
  agent_rules rules = agent_rules::create_agent; ///< LangChain's or LangGraph's rules
  /// Answers tool calls with unreadable arguments with an error and calls the model again. If
  /// false, such calls stay in the message as in LangGraph, and the agent ends if there are no
  /// other calls.
  bool answer_invalid_calls = false;
  /// Whether the agent applies the agent_context of its runs.
  bool follows_context = true;
  agent_schema<State> state{};                 ///< channels, for a JSON state only
  std::shared_ptr<superstep::checkpointer>
      checkpointer{};                          ///< where threads are saved; null: nowhere
  std::shared_ptr<superstep::store> store{};   ///< long-term memory of the tools; null: none
  std::vector<std::string> interrupt_before{}; ///< nodes to stop before; `*` for all
  std::vector<std::string> interrupt_after{};  ///< nodes to stop after; `*` for all
  bool debug = false;                          ///< see compile_options
};

} // namespace superstep

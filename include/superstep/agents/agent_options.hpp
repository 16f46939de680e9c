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

/// The two shapes of an agent's loop; they give the same messages in the same order.
enum class react_version : std::uint8_t {
  v1, ///< one activation of `tools` runs all calls of a message
  v2, ///< one Send per call: each is a task of its own, in an actor of its own
};

/// Selects the product whose rules an agent follows where the two differ.
enum class agent_rules : std::uint8_t {
  /// LangChain 1.x, create_agent(): the model's node is `model`, the response is asked for in each
  /// call of the model, and a run whose steps run out fails.
  create_agent,
  /// LangGraph 1.x, create_react_agent(): the model's node is `agent`, the response is asked for in
  /// a call of its own after the loop (node `generate_structured_response`), and a run whose steps
  /// run out ends with an apology as its last message.
  create_react_agent,
};

/// A hook of an agent: a body over the state, as graph<State>::add takes it with a runtime.
template <class State>
class agent_hook {
public:
  agent_hook() = default;
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
  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(call_); }
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

/// Channels of an agent whose state is JSON; a described struct has none. See json_agent.hpp.
template <class State>
struct agent_schema {};

/// Everything an agent is made of. Only `model` is required.
/// @tparam State a described struct (agent_state), or json::value
template <class State = messages_state>
struct agent_options {
  std::string name{}; ///< of the graph and of the AI messages; empty: the messages have none
  agent_model<State> model{};
  agent_tools tools{};
  agent_prompt<State> prompt{};
  /// A value that the run ends with besides its messages; written to `structured_response`.
  std::optional<response_format> response{};
  std::vector<superstep::middleware<State>> middleware{};
  agent_hook<State> pre_model_hook{}; ///< runs before each call of the model
  /// Runs after each answer of the model, before its calls: may answer, change or drop them. Needs
  /// version v2.
  agent_hook<State> post_model_hook{};
  /// Tools whose answer ends the loop. Under the rules of create_agent() only if the answer of the
  /// model calls no others.
  std::vector<std::string> return_direct{};
  /// Timeouts of calls, by the name of the tool, from 1 ms to 49 days. The model reads about a call
  /// that took longer. Needs version v2.
  std::map<std::string, std::chrono::milliseconds> tool_timeouts{};
  /// Tool calls in flight over all runs of the agent; further calls wait. Unset: the limit of
  /// the tool_node; a list of tools has none.
  std::optional<std::size_t> tool_calls_at_once{};
  /// Names of tools whose calls may start while the model still speaks, as soon as their arguments
  /// are complete. For tools that may run although the answer does not call them in the end, or
  /// twice: what the model breaks off is dropped, and a run that is resumed runs its calls again.
  /// Answers wait for the step of the tools: states, their order and checkpoints are the same as
  /// without. The model is asked for a stream.
  std::vector<std::string> early_tools{};
  react_version version = react_version::v2;
  agent_rules rules = agent_rules::create_agent;
  /// Answers calls whose arguments cannot be read, and asks the model again. Otherwise such calls
  /// are left in the message, as LangGraph leaves them, and the agent ends if there are no others.
  bool answer_invalid_calls = false;
  /// Whether the agent follows the agent_context of its runs.
  bool follows_context = true;
  agent_schema<State> state{};
  std::shared_ptr<superstep::checkpointer> checkpointer{};
  std::shared_ptr<superstep::store> store{};
  std::vector<std::string> interrupt_before{}; ///< nodes of the agent; `*`: all
  std::vector<std::string> interrupt_after{};
  bool debug = false; ///< see compile_options
};

} // namespace superstep

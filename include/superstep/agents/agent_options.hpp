// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/agent_parts.hpp>
#include <superstep/agents/react_agent.hpp>
#include <superstep/checkpoint/fwd.hpp>
#include <superstep/messages/messages_input.hpp>
#include <superstep/runtime/graph.hpp>

#include <boost/describe/class.hpp>

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace superstep {

/// A state that an agent can run on: described, with the conversation in `messages` under the rule
/// add_messages. These are used when it has them: `llm_input_messages`, what a hook lets the model
/// read, and `structured_response`, a json::value. How many steps remain is no field but asked of
/// the runtime.
template <class State>
concept agent_state = detail::described<State> && requires(State& s) {
  { s.messages } -> std::same_as<message_list&>;
};

/// The smallest state with everything an agent may use.
struct messages_state {
  message_list messages;
  message_list llm_input_messages;
  json::value structured_response;

  using reducers = superstep::reducers<by<&messages_state::messages, add_messages>>;
};
BOOST_DESCRIBE_STRUCT(messages_state, (), (messages, llm_input_messages, structured_response))

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

/// Everything a ReAct agent over a state of the user's is made of. What the run's context is, is
/// the user's choice, too: rt.context<T>().
template <agent_state State>
struct agent_options {
  std::string name; ///< of the graph and of the AI messages; empty: the messages have none
  agent_model<State> model;
  agent_tools tools;
  std::vector<std::string> return_direct; ///< tools whose answer ends the run
  agent_prompt<State> prompt;
  std::optional<response_format> response; ///< goes to the field structured_response
  agent_hook<State> pre_model_hook;        ///< runs before each call of the model
  /// Runs after each answer of the model, before its calls: may answer, change or drop them. v2.
  agent_hook<State> post_model_hook;
  react_version version = react_version::v2;
  std::shared_ptr<saver> checkpointer;
  std::shared_ptr<superstep::store> store;
  std::vector<std::string> interrupt_before; ///< nodes of the agent; `*`: all
  std::vector<std::string> interrupt_after;
  bool debug = false; ///< see compile_options
  /// Names of tools whose calls may start while the model still speaks; see
  /// react_agent_options::early_tools. Their arguments are the model's alone, but for the id.
  std::vector<std::string> early_tools{};
  /// Answers calls whose arguments cannot be read and asks the model again. Otherwise such calls
  /// are left in the message, as LangGraph leaves them, and the agent ends if there are no others.
  bool answer_invalid_calls = false;
};

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/middleware.hpp>
#include <superstep/base/json.hpp>
#include <superstep/base/task.hpp>
#include <superstep/checkpoint/detail/fwd.hpp>
#include <superstep/messages/messages.hpp>
#include <superstep/models/chat_model.hpp>
#include <superstep/models/structured_model.hpp>
#include <superstep/runtime/detail/fields.hpp>
#include <superstep/runtime/graph.hpp>
#include <superstep/runtime/runtime.hpp>
#include <superstep/runtime/update.hpp>
#include <superstep/tools/tool_node.hpp>

#include <boost/describe/class.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace superstep {

/// Durations of the tool calls of one run. Stored beside the state, because a state must not depend
/// on a clock.
/// @par Threads
/// Both members from any thread.
class call_times {
public:
  /// Adds the duration of one call.
  void add(std::chrono::nanoseconds one) const;
  /// Returns the durations added so far and clears the list.
  [[nodiscard]] std::vector<std::chrono::nanoseconds> take() const;

private:
  mutable std::mutex mutex_;
  mutable std::vector<std::chrono::nanoseconds> times_;
};

/// Options of one run for the agents in it: pass them as run_config::context. Optional.
struct agent_context {
  json::object parameters{}; ///< overrides of the model's parameters
  std::shared_ptr<const call_times> tool_times{}; ///< filled during the run if set
  /// Called with `tool_start` and `tool_end` and the id of the call, and with `model_start` and
  /// `model_end` and the number of the model's call in the run. A call that is given up ends too.
  /// `tool_discarded`: a call that was started early (agent_options::early_tools) was dropped,
  /// because the model's answer does not contain it.
  ///
  /// Called from any thread. Must be short and must not throw. Empty: not called.
  std::function<void(std::string_view event, std::string_view call_id)> observe{};
};

/// A state that an agent can run on: a described struct with the conversation in `messages`, a
/// message_list with the reducer add_messages.
///
/// These fields are used if the state has them: `llm_input_messages` (message_list, what a hook lets
/// the model read), `structured_response` (json::value), and the counters of chat_state. The number
/// of steps left is not a field but runtime::remaining_steps().
template <class State>
concept agent_state = detail::described<State> && requires(State& s) {
  { s.messages } -> std::same_as<message_list&>;
};

/// The default state of an agent: LangGraph's AgentState.
struct messages_state {
  message_list messages{};
  message_list llm_input_messages{};
  json::value structured_response{};

  using reducers = superstep::reducers<by<&messages_state::messages, add_messages>>;
};
BOOST_DESCRIBE_STRUCT(messages_state, (), (messages, llm_input_messages, structured_response))

/// Reducer: sums the token counts of two model answers, detailed counts by name.
struct add_token_usage {
  void operator()(token_usage& into, token_usage&& more) const;
};

/// The state of agents described by agent files: messages_state and counters. The counters are part
/// of the state, so they are saved with the messages.
struct chat_state {
  message_list messages{};
  message_list llm_input_messages{};
  json::value structured_response{};
  std::uint32_t model_calls = 0; ///< answers of the model; also the number of its next call
  std::uint32_t tool_calls = 0;  ///< answered calls, with or without an error
  token_usage usage{};           ///< sum over the model calls

  using reducers = superstep::reducers<
      by<&chat_state::messages, add_messages>, by<&chat_state::model_calls, std::plus<>>,
      by<&chat_state::tool_calls, std::plus<>>, by<&chat_state::usage, add_token_usage>>;
};
BOOST_DESCRIBE_STRUCT(chat_state, (),
                      (messages, llm_input_messages, structured_response, model_calls, tool_calls,
                       usage))

// What agents are put together from. `State` is a described struct, or json::value for agents whose
// state is known when the program runs.

/// A function of the state that gives a T at once or later: a plain function or a coroutine.
/// The state lives until the task has ended.
template <class T, class State>
class state_function {
public:
  state_function() = default;
  /// @param f T(const State&, const runtime&), or a task of it
  template <class F>
    requires(!std::same_as<std::remove_cvref_t<F>, state_function> &&
             std::invocable<const F&, const State&, const runtime&>)
  state_function(F f) {
    using made = std::invoke_result_t<const F&, const State&, const runtime&>;
    if constexpr (is_task_v<made>)
      call_ = std::move(f);
    else
      call_ = [f = std::move(f)](const State& state, const runtime& rt) {
        return ready<T>(f(state, rt));
      };
  }
  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(call_); }
  [[nodiscard]] task<T> operator()(const State& state, const runtime& rt) const {
    return call_(state, rt);
  }

private:
  std::function<task<T>(const State&, const runtime&)> call_;
};

/// The model of an agent: an object, a spec, or a function that chooses the model of each call.
///
/// A spec is a text such as "openai:gpt-4o-mini": see make_model(). The builder of the agent
/// resolves it and throws compile_error if it is not valid.
///
/// The agent binds its tools to a model object. A model with tools already bound must have exactly
/// the agent's. A chosen model is called as it is, so the function binds the tools (bind_tools()):
/// any of the agent's, and no others.
template <class State>
class agent_model {
public:
  agent_model() = default;
  agent_model(chat_model_ptr model) : model_{std::move(model)} {}
  template <std::derived_from<chat_model> M>
  agent_model(std::shared_ptr<const M> model) : model_{std::move(model)} {}
  agent_model(std::string spec) : spec_{std::move(spec)} {}
  agent_model(const char* spec) : spec_{spec} {}
  /// @param choose chat_model_ptr(const State&, const runtime&), or a task of it
  template <class F>
    requires(!std::convertible_to<F, chat_model_ptr> &&
             std::invocable<const F&, const State&, const runtime&>)
  agent_model(F choose) : choose_{std::move(choose)} {}

  /// The model object; null if the model is given by a spec or chosen for each call.
  [[nodiscard]] const chat_model_ptr& object() const noexcept { return model_; }
  /// The spec; empty if there is none.
  [[nodiscard]] const std::string& spec() const noexcept { return spec_; }
  /// The function that chooses the model of each call; empty if there is none.
  [[nodiscard]] const state_function<chat_model_ptr, State>& choose() const noexcept {
    return choose_;
  }

private:
  chat_model_ptr model_;
  std::string spec_;
  state_function<chat_model_ptr, State> choose_;
};

/// What the model reads beside the messages. A text or a system message is put before them and
/// never stored. A function is given the state, whose messages are those chosen for this call, and
/// gives the whole input of the model.
template <class State>
class agent_prompt {
public:
  using function = state_function<message_list, State>;

  agent_prompt() = default;
  agent_prompt(const char* text) : agent_prompt{std::string{text}} {}
  agent_prompt(std::string text) : agent_prompt{system_message(std::move(text))} {}
  agent_prompt(message system) : system_{std::make_shared<const message>(std::move(system))} {}
  template <class F>
    requires std::invocable<const F&, const State&, const runtime&>
  agent_prompt(F make) : make_{std::move(make)} {}

  [[nodiscard]] const message_ptr& system() const noexcept { return system_; } ///< null: none
  [[nodiscard]] const function& make() const noexcept { return make_; }

private:
  message_ptr system_;
  function make_;
};

/// The tools of an agent: a list, or a tool_node, which says more about how they are run. Of a list
/// every failure is answered to the model. Without tools an agent is its model alone.
class agent_tools {
public:
  agent_tools() : node_{tool_list{}} {}
  agent_tools(tool_list tools) : node_{std::move(tools)}, is_list_{true} {}
  agent_tools(std::initializer_list<tool_ptr> tools) : agent_tools{tool_list{tools}} {}
  agent_tools(tool_node node) : node_{std::move(node)} {}

  [[nodiscard]] const tool_node& node() const noexcept { return node_; }
  [[nodiscard]] bool empty() const noexcept { return node_.definitions()->empty(); }
  [[nodiscard]] bool is_list() const noexcept { return is_list_; }

private:
  tool_node node_;
  bool is_list_ = false;
};

/// What an agent's run is to end with besides its messages: a value that matches a schema. The
/// model is asked for it in a call of its own after the loop.
struct response_format {
  json::object schema;  ///< JSON Schema of type object; its `title` names the answer
  std::string prompt{}; ///< a system message for that call alone; empty: none
  /// The way to ask for it: not every server knows json_schema.
  structured_method method = structured_method::json_schema;
};

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

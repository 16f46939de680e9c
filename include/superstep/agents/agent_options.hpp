// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/detail/state_readers.hpp>
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

/// Collects the durations of the tool calls of one run. They are not part of the state, because a
/// state must not depend on a clock. Batch rows use them for the percentiles of the summary.
///
///     auto times = std::make_shared<const call_times>();
///     auto config = run_config{.context = std::make_shared<agent_context>(
///                                  agent_context{.tool_times = times})};
///     engine.invoke(agent, "…", config);
///     for (const auto& call : times->take()) { … } // call.tool, call.call_id, call.took
/// @par Threads
/// All members may be called by any thread.
class call_times {
public:
  /// Adds a call.
  void add(call_time one) const;
  /// Returns the calls added so far, in the order in which they ended, and clears the list.
  [[nodiscard]] std::vector<call_time> take() const;

private:
  mutable std::mutex mutex_;
  mutable std::vector<call_time> times_;
};

/// A notification of agent_context::observe. The references are valid during the call.
struct call_event {
  /// - `tool_start` and `tool_end`: a tool call. Cancelled calls end as well.
  /// - `tool_discarded`: the result of a call that was started early (agent_options::early_tools)
  ///   was dropped. Either the model's final answer does not contain the call, or the call failed
  ///   or returned a command and runs again in the step of the tools.
  /// - `model_start` and `model_end`: a call of the model
  /// - `model_retry`: an attempt of a model call failed and is repeated
  /// - `model_rejected`: the structured response in the answer of a model call, which has ended, is
  ///   invalid. The model is asked again, or the run fails
  std::string_view event;
  std::string_view call_id; ///< id of the tool call; number of the model's call in the run, from 0
  /// `ok`, `error` or `cancelled` in `tool_end` and `model_end`; otherwise empty.
  std::string_view status{};
  /// In `tool_end`, the attempt of the node. In `model_end`, the number of attempts of the call. In
  /// `model_retry`, the number of the failed attempt. 0 in the other events.
  std::uint32_t attempt = 0;
  std::chrono::nanoseconds took{0};   ///< duration of the call, in `tool_end` and `model_end`
  const token_usage* usage = nullptr; ///< in `model_end`, the reported token counts; may be null
  /// In `model_retry`, why the attempt failed; in `model_rejected`, why the answer is invalid; in
  /// `model_end` with the status `error`, why the call failed.
  std::string_view error{};
  std::string_view answer{}; ///< in `model_rejected`, the text of the answer, or its tool call
  /// Whether a model call only requests the structured response (response_request::separate); in
  /// `model_start` and `model_end`.
  bool is_separate = false;
  std::string_view tool{}; ///< name of the tool, in `tool_start` and `tool_end`; otherwise empty
};

/// Options of one run for the agents in it: pass them as run_config::context. Optional.
struct agent_context {
  object_box parameters{};                        ///< overrides of the model's parameters
  std::shared_ptr<const call_times> tool_times{}; ///< filled during the run if set
  /// See model_request::sample. Also applies to agents that are called as tools.
  std::uint32_t sample = 1;
  /// See model_request::attempt. Also applies to agents that are called as tools.
  std::uint32_t attempt = 1;
  /// Called at the start and end of each call of a tool or of the model. Any thread may call it,
  /// also several at once. It must be short and must not throw. May be empty.
  std::function<void(const call_event&)> observe{};
  /// Whether the caller resumes the thread of a cancelled run. The tool calls of the step that was
  /// cancelled then run again; otherwise errors answer them. Also applies to agents that are called
  /// as tools.
  bool repeats_cancelled_step = false;
};

/// Whether a type can be the state of an agent: a described struct with the conversation in
/// `messages`, a message_list with the reducer add_messages.
///
/// These fields are used if the state has them: `structured_response` (json::value), the counters
/// of chat_state, and `llm_input_messages` (message_list). The model reads `llm_input_messages`
/// instead of `messages` if a hook has set it. The remaining steps are not a field; see
/// runtime::remaining_steps().
template <class State>
concept agent_state = detail::described<State> && requires(State& s) {
  { s.messages } -> std::same_as<message_list&>;
};

namespace detail {

/// Whether the `messages` of a state, if it has the field, have a rule that combines writes.
template <class State>
inline constexpr bool combines_messages = true;
template <agent_state State>
inline constexpr bool combines_messages<State> =
    !std::same_as<typename rule_for<&State::messages, typename rules_of<State>::type>::type,
                  last_value_rule>;

} // namespace detail

/// The default state of an agent.
/// Source: `AgentState` in LangGraph 1.2.22, prebuilt/chat_agent_executor.py.
struct messages_state {
  message_list messages{};           ///< the conversation
  message_list llm_input_messages{}; ///< replaces `messages` as input of the model unless empty
  json::value structured_response{}; ///< see agent_options::response; null: none

  /// New messages are merged with add_messages; the other fields keep the last value written.
  using reducers = superstep::reducers<by<&messages_state::messages, add_messages>>;
};
BOOST_DESCRIBE_STRUCT(messages_state, (), (messages, llm_input_messages, structured_response))

/// Reducer that sums the token counts of two model answers, including the detailed counts. It does
/// not change `others`.
struct add_token_usage {
  /// Adds the counts of `more` to those of `into`.
  void operator()(token_usage& into, token_usage&& more) const;
};

/// The state of agents described by agent files: messages_state and counters. The counters are part
/// of the state, so they are saved with the messages.
struct chat_state {
  message_list messages{};           ///< the conversation
  message_list llm_input_messages{}; ///< replaces `messages` as input of the model unless empty
  json::value structured_response{}; ///< see agent_options::response; null: none
  std::uint32_t model_calls = 0; ///< answers of the model so far; also the number of its next call
  std::uint32_t tool_calls = 0;  ///< answered calls, with or without an error
  token_usage usage{};           ///< sum over the model calls

  /// Messages are merged with add_messages, and counters are summed.
  using reducers = superstep::reducers<
      by<&chat_state::messages, add_messages>, by<&chat_state::model_calls, std::plus<>>,
      by<&chat_state::tool_calls, std::plus<>>, by<&chat_state::usage, add_token_usage>>;
};
BOOST_DESCRIBE_STRUCT(chat_state, (),
                      (messages, llm_input_messages, structured_response, model_calls, tool_calls,
                       usage))

// The parts that agents are built from. `State` is a described struct, or json::value for agents
// whose state is defined at run time.

/// A function of the state that returns a T: a plain function or a coroutine. Called by any number
/// of runs at once. The state lives until the returned task has ended.
/// @par Threads
/// All members may be called from any thread.
template <class T, class State>
class state_function {
public:
  /// Makes an empty object, which must not be called.
  state_function() = default;
  /// Wraps a function.
  /// @param f takes `(const State&, const runtime&)` and returns a T or a task<T>
  template <class F>
    requires(!std::same_as<std::remove_cvref_t<F>, state_function> &&
             std::invocable<const F&, const State&, const runtime&>)
  state_function(F f) {
    using made = std::invoke_result_t<const F&, const State&, const runtime&>;
    constexpr auto is_right = std::is_convertible_v<made, T> || is_task_v<made>;
    static_assert(is_right, "a prompt function returns a message_list, and a function that chooses "
                            "the model returns a chat_model_ptr; a coroutine returns a task<> of "
                            "one of these");
    if constexpr (is_task_v<made>)
      call_ = std::move(f);
    else if constexpr (is_right)
      call_ = [f = std::move(f)](const State& state, const runtime& rt) {
        return ready<T>(f(state, rt));
      };
  }
  /// Whether a function is set.
  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(call_); }
  /// Calls the function and returns its result as a task, which throws what the function throws.
  /// A function must be set.
  /// @param state the state; must outlive the task, like this object
  /// @param rt runtime of the calling node; must outlive the task
  [[nodiscard]] task<T> operator()(const State& state, const runtime& rt) const {
    return call_(state, rt);
  }

private:
  std::function<task<T>(const State&, const runtime&)> call_;
};

/// The model of an agent: an object, a spec, or a function that chooses the model for each call.
///
/// A spec is a text such as "openai:gpt-4o-mini": see make_model(). The builder of the agent
/// resolves it and throws compile_error if it is not valid.
///
/// The agent binds its tools to a model object. A model with tools already bound must have exactly
/// the agent's tools. A model that the function chooses is used unchanged, so the function must
/// bind the tools with bind_tools(). It may bind any of the agent's tools and no others.
/// @par Threads
/// Immutable; any number of threads may use one object at once.
template <class State>
class agent_model {
public:
  /// No model; create_agent() rejects it.
  agent_model() = default;
  /// A model object, shared by all runs of the agent.
  agent_model(chat_model_ptr model) : model_{std::move(model)} {}
  /// A model object of a derived class.
  template <std::derived_from<chat_model> M>
  agent_model(std::shared_ptr<M> model) : model_{std::move(model)} {}
  /// The model that make_model() or another function has made. Throws what result::value() throws
  /// if there is none.
  agent_model(result<chat_model_ptr> made) : model_{std::move(made).value()} {}
  /// A spec; see make_model().
  agent_model(std::string spec) : spec_{std::move(spec)} {}
  /// A spec; see make_model().
  agent_model(const char* spec) : spec_{spec} {}
  /// A function that chooses the model of each call.
  /// @param choose takes `(const State&, const runtime&)` or `(const State&)`, and returns a
  /// chat_model_ptr, not null, or a task of one. Called by any number of runs at once.
  template <class F>
    requires(!std::convertible_to<F, chat_model_ptr> &&
             std::invocable<const F&, const State&, const runtime&>)
  agent_model(F choose) : choose_{std::move(choose)} {}
  template <detail::state_only<State> F>
    requires(!std::convertible_to<F, chat_model_ptr>)
  agent_model(F choose) : choose_{detail::without_runtime<State>(std::move(choose))} {}
  /// Does not compile: the function does not fit.
  template <detail::misfit_reader<State> F>
  agent_model(F) {
    static_assert(detail::never<F>, "a function that chooses the model takes (const State&, const "
                                    "runtime&) or (const State&), and returns a chat_model_ptr");
  }

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

/// The prompt of an agent: a text or system message, or a function.
///
/// A text or a system message is sent before the messages and is never part of the state. A
/// function gets the state, whose messages are those selected for this call, and returns the
/// complete input of the model.
/// @par Threads
/// Immutable; any number of threads may use one object at once.
template <class State>
class agent_prompt {
public:
  /// A function that makes the complete input of the model.
  using function = state_function<message_list, State>;

  /// No prompt: the model reads only the messages.
  agent_prompt() = default;
  /// A system message with this text.
  agent_prompt(const char* text) : agent_prompt{std::string{text}} {}
  /// A system message with this text.
  agent_prompt(std::string text) : agent_prompt{system_message(std::move(text))} {}
  /// A message that is sent before the messages of the state.
  /// @param system usually a system message
  agent_prompt(message system) : system_{std::make_shared<const message>(std::move(system))} {}
  /// A function that makes the complete input of the model.
  /// @param make takes `(const State&, const runtime&)` or `(const State&)`, and returns a
  /// message_list or a task of one. Called by any number of runs at once.
  template <class F>
    requires std::invocable<const F&, const State&, const runtime&>
  agent_prompt(F make) : make_{std::move(make)} {}
  template <detail::state_only<State> F>
  agent_prompt(F make) : make_{detail::without_runtime<State>(std::move(make))} {}
  /// Does not compile: the function does not fit.
  template <detail::misfit_reader<State> F>
  agent_prompt(F) {
    static_assert(detail::never<F>, "a prompt function takes (const State&, const runtime&) or "
                                    "(const State&), and returns a message_list");
  }

  /// The system message; null if there is none.
  [[nodiscard]] const message_ptr& system() const noexcept { return system_; }
  /// The function that makes the model's input; empty if there is none.
  [[nodiscard]] const function& make() const noexcept { return make_; }

private:
  message_ptr system_;
  function make_;
};

/// The tools of an agent: a list, or a tool_node with options for their execution. For a list,
/// failures of tools are answered with errors that the model reads, except those for which
/// is_unavailable() is true. An agent without tools only calls its model.
///
/// The builder of the agent throws compile_error for a list that tool_node does not accept.
/// @par Threads
/// Immutable; any number of threads may use one object at once.
class agent_tools {
public:
  /// No tools.
  agent_tools() : node_{tool_list{}} {}
  /// A list of tools, run by a tool_node with default options.
  agent_tools(tool_list tools);
  /// A list of tools in braces, as from a tool_list.
  agent_tools(std::initializer_list<tool_ptr> tools) : agent_tools{tool_list{tools}} {}
  /// The tools of a node, run with the node's options.
  agent_tools(tool_node node) : node_{std::move(node)} {}

  /// The node that runs the tools.
  [[nodiscard]] const tool_node& node() const noexcept { return node_; }
  /// Whether there are no tools.
  [[nodiscard]] bool empty() const noexcept { return node_.definitions()->empty(); }
  /// Whether the tools were given as a list.
  [[nodiscard]] bool is_list() const noexcept { return is_list_; }
  /// Why the list is not valid, for example because two tools have the same name; empty if it is.
  [[nodiscard]] const std::string& fault() const noexcept { return fault_; }

private:
  tool_node node_;
  bool is_list_ = false;
  std::string fault_;
};

/// Selects whether OpenAI's strict mode enforces the schema of a structured response. The strict
/// mode accepts only a subset of JSON Schema; docs/models.md lists it.
enum class strict_mode : std::uint8_t {
  automatic, ///< if the schema can be converted to the subset without a loss
  on,        ///< always; building the agent fails if the schema cannot be converted
  off,       ///< never; the schema is sent unchanged
};

/// Selects the model call that requests a structured response.
enum class response_request : std::uint8_t {
  by_rules, ///< as agent_rules determines
  /// Each call of the loop; the last answer is the response. The agent makes no further call. An
  /// agent with tools requires structured_method::json_schema and a server that accepts a response
  /// format beside tools.
  in_answer,
  separate, ///< one further call after the loop, with the prompt of the agent
};

/// The structured response of an agent: a JSON value that matches a schema. A run produces it in
/// addition to its messages.
struct response_format {
  json::object schema{}; ///< JSON Schema of type object; its `title` names the answer
  /// System message of the separate call for the response, after the prompt of the agent if that is
  /// sent. Empty: none, or for the method json_object an instruction with the schema. Must be empty
  /// if the response is requested in the answers.
  std::string prompt{};
  /// The technique that makes the model answer in JSON. Not every server supports json_schema. The
  /// rules of create_agent() do not support tool_call.
  structured_method method = structured_method::json_schema;
  strict_mode strict = strict_mode::automatic; ///< whether the provider enforces the schema
  /// Maximum number of further requests after answers that were cut or do not match the schema.
  /// Each contains the error of the answer before. Then the run fails with
  /// model_errc::invalid_response.
  std::uint32_t retries = 0;
  response_request request = response_request::by_rules; ///< the call that requests the response
};

/// The two shapes of an agent's loop. Both produce the same messages in the same order.
/// Source: `version` of `create_react_agent` in LangGraph 1.2.22, prebuilt/chat_agent_executor.py.
enum class react_version : std::uint8_t {
  v1, ///< one activation of `tools` runs all calls of an answer
  v2, ///< one Send per call: each call is a separate task in a separate actor
};

/// Selects whether an agent follows LangChain's or LangGraph's rules where the two differ.
enum class agent_rules : std::uint8_t {
  /// LangChain 1.x, create_agent(): the model's node is `model`, the structured response is
  /// requested in every call of the model, and a run that reaches its recursion limit fails.
  create_agent,
  /// LangGraph 1.x, create_react_agent(): the model's node is `agent`, and the structured response
  /// is requested in a separate call after the loop (node `generate_structured_response`). If the
  /// model calls tools in the last step that the recursion limit allows, the run ends with an
  /// apology in place of the answer.
  create_react_agent,
};

/// A hook of an agent: a function of the state and the runtime that runs as a node of its graph.
/// @par Threads
/// All members may be called from any thread.
template <class State>
class agent_hook {
public:
  /// An empty hook: no node is added.
  agent_hook() = default;
  /// Wraps a function.
  /// @param f takes `(const State&, runtime)` or `(const State&)`, and returns nothing,
  /// update<State> or command<State>, or a task<> of one of these. Called by any number of runs at
  /// once.
  template <class F>
    requires(!std::same_as<std::remove_cvref_t<F>, agent_hook> &&
             std::invocable<const F&, const State&, runtime>)
  agent_hook(F f) {
    using made = std::invoke_result_t<const F&, const State&, runtime>;
    static_assert(detail::owns_its_runtime<F>,
                  "a coroutine takes runtime by value, not as const runtime&: a reference "
                  "would dangle after the first co_await");
    static_assert(detail::node_result<awaited_t<made>, State>,
                  "a hook must return nothing, an update<State> or a command<State>, or a task<> "
                  "of one of these");
    call_ = [f = std::move(f)](const State& state, runtime rt) -> task<command<State>> {
      if constexpr (is_task_v<made>)
        return later(f(state, std::move(rt)));
      else if constexpr (std::is_void_v<made>)
        return f(state, std::move(rt)), ready(command<State>{});
      else
        return ready(as_command(f(state, std::move(rt))));
    };
  }
  template <detail::state_only<State> F>
  agent_hook(F f) : agent_hook{detail::without_runtime<State>(std::move(f))} {}
  /// Does not compile: the function does not fit.
  template <detail::misfit_reader<State> F>
  agent_hook(F) {
    static_assert(detail::never<F>, "a hook takes (const State&, runtime) or (const State&)");
  }
  /// Whether a function is set.
  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(call_); }
  /// Calls the function and returns its result as a task, which throws what the function throws.
  /// A function must be set.
  /// @param state the state; must outlive the task, like this object
  /// @param rt runtime of the calling node
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

/// The channels of an agent whose state is JSON; see json_agent.hpp. This template is empty,
/// because the members of a described struct are its channels.
template <class State>
struct agent_schema {};

/// The options of create_agent(). Only `model` is required.
/// @tparam State a described struct (agent_state), or json::value
template <class State = messages_state>
struct agent_options {
  static_assert(agent_state<State> || std::is_same_v<State, json::value>,
                "the state of an agent is a described struct with a field message_list messages "
                "and the reducer add_messages (see agent_state), or json::value");
  static_assert(detail::combines_messages<State>,
                "without a reducer, each step would replace the conversation: add `using reducers "
                "= superstep::reducers<by<&your_state::messages, add_messages>>` to the state");

  std::string name{};           ///< name of the graph and its AI messages; empty: no name
  agent_model<State> model{};   ///< a model, a spec such as "openai:gpt-4o-mini", or a function
  agent_tools tools{};          ///< a list, or a tool_node with options
  agent_prompt<State> prompt{}; ///< a system prompt, or a function that makes the model's input
  /// The structured response, written to the field `structured_response`; unset: none.
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
  /// is answered with an error that the model reads. Requires version v2 and a described struct as
  /// state; with_timeout() works without these.
  std::map<std::string, std::chrono::milliseconds> tool_timeouts{};
  /// Maximum number of tool calls in flight, over all runs of the agent, at least 1; further calls
  /// wait. Unset: the limit of the tool_node, or no limit for a list of tools.
  std::optional<std::size_t> tool_calls_at_once{};
  /// Names of tools whose calls may start while the model's answer is still arriving, as soon as
  /// their arguments are complete. The model is asked for a stream. Results wait for the step of
  /// the tools, so states and checkpoints are the same as without this option.
  ///
  /// Only for tools that may run twice or in vain. An answer that breaks off discards the calls
  /// that it has started, and a resumed run makes its calls again. The tools must not have injected
  /// arguments other than the call's id. The agent must not have an interceptor of tool calls, and
  /// no hook after the model, because such a hook may refuse calls.
  /// Calls of idempotent() and journaled() tools do not start early.
  std::vector<std::string> early_tools{};
  react_version version = react_version::v2;     ///< shape of the loop
  agent_rules rules = agent_rules::create_agent; ///< LangChain's or LangGraph's rules
  /// Answers tool calls with unreadable arguments with an error and calls the model again. If
  /// false, such calls stay in the message without an answer, and the agent ends if there are no
  /// other calls. Under the rules of create_agent(), later requests contain errors as their
  /// answers.
  bool answer_invalid_calls = false;
  /// Whether the agent applies the agent_context of its runs.
  bool follows_context = true;
  agent_schema<State> state{}; ///< channels, for a JSON state only
  std::shared_ptr<superstep::checkpointer>
      checkpointer{};                          ///< where threads are saved; null: nowhere
  std::shared_ptr<superstep::store> store{};   ///< long-term memory of the tools; null: none
  std::vector<std::string> interrupt_before{}; ///< nodes to stop before; `*` for all
  std::vector<std::string> interrupt_after{};  ///< nodes to stop after; `*` for all
  bool debug = false;                          ///< see compile_options
};

} // namespace superstep

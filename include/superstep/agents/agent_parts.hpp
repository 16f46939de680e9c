// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/task.hpp>
#include <superstep/messages/message_list.hpp>
#include <superstep/models/chat_model.hpp>
#include <superstep/models/structured_model.hpp>
#include <superstep/runtime/runtime.hpp>
#include <superstep/tools/tool_node.hpp>

#include <concepts>
#include <functional>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

// The parts that agents are built from. `State` is a described struct, or json::value for agents
// whose state is defined at run time.
namespace superstep {

/// A function of the state that returns a T: a plain function or a coroutine. Called by any number
/// of runs at once. The state lives until the returned task has ended.
template <class T, class State>
class state_function {
public:
  /// An empty function; must not be called.
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
  /// Whether a function is set.
  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(call_); }
  /// Calls the function. `state` and `rt` must outlive the task.
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
/// the agent's tools. A model that the function chooses is used unchanged, so the function binds
/// the tools with bind_tools(): any of the agent's, and no others.
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

/// The prompt of an agent: a text or system message, or a function.
///
/// A text or a system message is sent before the messages and is never part of the state. A
/// function gets the state, whose messages are those selected for this call, and returns the
/// complete input of the model.
template <class State>
class agent_prompt {
public:
  using function = state_function<message_list, State>;

  /// No prompt.
  agent_prompt() = default;
  agent_prompt(const char* text) : agent_prompt{std::string{text}} {}
  agent_prompt(std::string text) : agent_prompt{system_message(std::move(text))} {}
  agent_prompt(message system) : system_{std::make_shared<const message>(std::move(system))} {}
  /// @param make message_list(const State&, const runtime&), or a task of it
  template <class F>
    requires std::invocable<const F&, const State&, const runtime&>
  agent_prompt(F make) : make_{std::move(make)} {}

  /// The system message; null if there is none.
  [[nodiscard]] const message_ptr& system() const noexcept { return system_; }
  /// The function that makes the model's input; empty if there is none.
  [[nodiscard]] const function& make() const noexcept { return make_; }

private:
  message_ptr system_;
  function make_;
};

/// The tools of an agent: a list, or a tool_node with options for their execution. For a list,
/// every failure of a tool is answered with an error that the model reads. An agent without tools
/// only calls its model.
class agent_tools {
public:
  agent_tools() : node_{tool_list{}} {}
  agent_tools(tool_list tools) : node_{std::move(tools)}, is_list_{true} {}
  agent_tools(std::initializer_list<tool_ptr> tools) : agent_tools{tool_list{tools}} {}
  agent_tools(tool_node node) : node_{std::move(node)} {}

  /// The node that runs the tools.
  [[nodiscard]] const tool_node& node() const noexcept { return node_; }
  [[nodiscard]] bool empty() const noexcept { return node_.definitions()->empty(); }
  /// Whether the tools were given as a list.
  [[nodiscard]] bool is_list() const noexcept { return is_list_; }

private:
  tool_node node_;
  bool is_list_ = false;
};

/// The structured response of an agent: a value that matches a schema, which the run ends with in
/// addition to its messages. agent_rules decides when the model is asked for it.
struct response_format {
  json::object schema;  ///< JSON Schema of type object; its `title` names the answer
  std::string prompt{}; ///< system message of the separate call for the response; empty: none
  /// The technique that makes the model answer in JSON. Not every server supports json_schema.
  structured_method method = structured_method::json_schema;
};

} // namespace superstep

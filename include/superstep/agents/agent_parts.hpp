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

// What agents are put together from. `State` is a described struct, or json::value for agents whose
// state is known when the program runs.
namespace superstep {

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

} // namespace superstep

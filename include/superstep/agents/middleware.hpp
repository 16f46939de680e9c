// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/detail/state_readers.hpp>
#include <superstep/base/task.hpp>
#include <superstep/messages/messages.hpp>
#include <superstep/models/chat_model.hpp>
#include <superstep/runtime/detail/owns_runtime.hpp>
#include <superstep/runtime/runtime.hpp>
#include <superstep/runtime/update.hpp>
#include <superstep/tools/tool_node.hpp>

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace superstep {

/// One call of an agent's model. Interceptors can read it and change it before it is made.
struct model_call {
  chat_model_ptr model;                          ///< the model to call
  message_ptr system;                            ///< sent before the messages; null: none
  message_list messages;                         ///< the conversation that the model reads
  tool_definitions tools;                        ///< offered tools; null: those bound to the model
  std::uint32_t turn = 0;                        ///< number of the model's call in this run, from 0
  object_box parameters{};                       ///< see model_request::parameters
  std::shared_ptr<const answer_schema> format{}; ///< required format of the answer; null: any text
};

/// An answer that broke off after a piece of it was streamed. Not retried, because another attempt
/// would produce a different text.
class broken_answer : public model_error {
public:
  using model_error::model_error;
};

/// A function that makes a call of the model, through the wrappers inside of the one that calls it.
/// It may be called several times. The task throws the model's error as std::system_error.
using model_ask = std::function<task<message>(model_call)>;
/// A function that wraps every call of a model: it receives the call and a function that makes the
/// call, and returns the answer. It may call the function any number of times, also never. Called
/// by any number of runs at once.
using model_interceptor = std::function<task<message>(model_call, model_ask, runtime)>;

// Middleware of create_agent(): code that runs around the parts of an agent's loop.

/// The place where a hook makes its agent continue.
enum class jump : std::uint8_t {
  none,   ///< no jump: the agent continues as usual
  model,  ///< the beginning of the loop
  tools,  ///< the tools, with the calls of the latest answer
  finish, ///< after the loop; in a hook that runs after the loop: the end of the run
};

namespace detail {

/// Reads and writes the messages of a state; json_agent.hpp has the form for a JSON state.
template <class State>
struct agent_access {
  using update = superstep::update<State>;
  static const message_list& messages(const State& state) { return state.messages; }
  static void add_messages(update& to, message_list&& more) {
    to.add(set<&State::messages>(std::move(more)));
  }
};

} // namespace detail

/// The result of a middleware hook: its writes, and where the run continues.
template <class State>
struct hook_step {
  typename detail::agent_access<State>::update update{}; ///< writes to the state
  jump to = jump::none;                                  ///< place to continue at
};

/// The result of a hook that only handles messages.
struct message_step {
  message_list messages{}; ///< written to the state with the reducer add_messages
  jump to = jump::none;    ///< place to continue at
};
/// A hook that only handles messages, usable with every state type.
struct message_hook {
  /// The function, called by any number of runs at once; empty if there is no hook. The messages
  /// live until its task has ended.
  std::function<task<message_step>(const message_list&, runtime)> run{};
  std::vector<jump> jumps{}; ///< the jumps that the function may return
};

/// A hook of a middleware: a function that runs as a node of the agent's graph. It takes the state,
/// optionally the runtime, and returns nothing, update<State> (json::object for a JSON state), a
/// jump or a hook_step<State>, or a task<> of one of these. The state lives until the task has
/// ended.
/// @par Threads
/// All members may be called from any thread.
template <class State>
class middleware_hook {
public:
  /// An empty hook: no node is added.
  middleware_hook() = default;
  /// Wraps a function.
  /// @param f called by any number of runs at once
  /// @param jumps the jumps that `f` may return; any other fails the run
  template <class F>
    requires(!std::same_as<std::remove_cvref_t<F>, middleware_hook> &&
             std::invocable<const F&, const State&, runtime>)
  middleware_hook(F f, std::vector<jump> jumps = {}) : jumps_{std::move(jumps)} {
    static_assert(detail::owns_its_runtime<F>,
                  "a coroutine takes runtime by value, not as const runtime&: a reference "
                  "would dangle after the first co_await");
    using made = std::invoke_result_t<const F&, const State&, runtime>;
    call_ = [f = std::move(f)](const State& state, runtime rt) -> task<hook_step<State>> {
      if constexpr (is_task_v<made>)
        return later(f(state, std::move(rt)));
      else if constexpr (std::is_void_v<made>)
        return f(state, std::move(rt)), ready(hook_step<State>{});
      else
        return ready(step(f(state, std::move(rt))));
    };
  }
  template <detail::state_only<State> F>
  middleware_hook(F f, std::vector<jump> jumps = {})
      : middleware_hook{detail::without_runtime<State>(std::move(f)), std::move(jumps)} {}
  /// Does not compile: the function does not fit.
  template <detail::misfit_reader<State> F>
  middleware_hook(F, const std::vector<jump>& = {}) {
    static_assert(detail::never<F>, "a hook takes (const State&, runtime) or (const State&)");
  }
  /// Makes a hook from one that only handles messages; an empty one gives an empty hook.
  middleware_hook(message_hook hook) : jumps_{std::move(hook.jumps)} {
    if (hook.run)
      call_ = [run = std::move(hook.run)](const State& state, runtime rt) {
        return over_messages(run, access::messages(state), std::move(rt));
      };
  }
  /// Whether a function is set.
  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(call_); }
  /// Calls the function and returns its result as a task, which throws what the function throws. A
  /// function must be set.
  /// @param state the state; must outlive the task, like this object
  /// @param rt runtime of the calling node
  [[nodiscard]] task<hook_step<State>> operator()(const State& state, runtime rt) const {
    return call_(state, std::move(rt));
  }
  /// The jumps that the hook may return.
  [[nodiscard]] const std::vector<jump>& jumps() const noexcept { return jumps_; }

private:
  using access = detail::agent_access<State>;

  static hook_step<State> step(hook_step<State> s) { return s; }
  static hook_step<State> step(typename access::update u) { return {std::move(u), jump::none}; }
  static hook_step<State> step(jump to) { return {{}, to}; }
  static hook_step<State> step(message_step s) {
    auto out = hook_step<State>{};
    if (!s.messages.empty())
      access::add_messages(out.update, std::move(s.messages));
    out.to = s.to;
    return out;
  }
  /// Calls a hook that only handles messages. This coroutine owns the list until the hook's task
  /// has ended.
  static task<hook_step<State>>
  over_messages(std::function<task<message_step>(const message_list&, runtime)> run,
                message_list messages, runtime rt) {
    auto running = run(messages, std::move(rt));
    auto done = step(co_await running);
    co_return done;
  }
  template <class T>
  static task<hook_step<State>> later(task<T> body) {
    auto done = hook_step<State>{};
    if constexpr (std::is_void_v<T>)
      co_await body;
    else
      done = step(co_await body);
    co_return done;
  }

  std::function<task<hook_step<State>>(const State&, runtime)> call_;
  std::vector<jump> jumps_;
};

/// Wraps every call of an agent's model. The function gets the call and a function that makes the
/// call, like a model_interceptor; its possible parameter lists are those of the constructor.
/// @par Threads
/// All members may be called from any thread.
template <class State>
class model_wrap {
public:
  /// Makes an empty object, which wraps nothing and must not be called.
  model_wrap() = default;
  /// Wraps a function.
  /// @param f returns a task<message> and takes `(model_call, model_ask)`, `(model_call, model_ask,
  /// runtime)` or `(const State&, model_call, model_ask, runtime)`. Called by any number of runs at
  /// once. The state lives until the task has ended.
  template <class F>
    requires(!std::same_as<std::remove_cvref_t<F>, model_wrap> &&
             (std::invocable<const F&, const State&, model_call, model_ask, runtime> ||
              std::invocable<const F&, model_call, model_ask, runtime> ||
              std::invocable<const F&, model_call, model_ask>))
  model_wrap(F f) {
    static_assert(detail::owns_its_runtime<F>,
                  "a coroutine takes runtime by value, not as const runtime&: a reference "
                  "would dangle after the first co_await");
    if constexpr (std::invocable<const F&, const State&, model_call, model_ask, runtime>)
      call_ = std::move(f);
    else
      call_ = [f = std::move(f)](const State&, model_call call, model_ask ask, runtime rt) {
        if constexpr (std::invocable<const F&, model_call, model_ask, runtime>)
          return f(std::move(call), std::move(ask), std::move(rt));
        else
          return f(std::move(call), std::move(ask));
      };
  }
  /// Whether a function is set.
  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(call_); }
  /// Calls the function and returns its result as a task, which throws what the function throws. A
  /// function must be set.
  /// @param state the state; must outlive the task, like this object
  /// @param call the call of the model
  /// @param ask makes the call; may be called several times
  /// @param rt runtime of the calling node
  [[nodiscard]] task<message> operator()(const State& state, model_call call, model_ask ask,
                                         runtime rt) const {
    return call_(state, std::move(call), std::move(ask), std::move(rt));
  }

private:
  std::function<task<message>(const State&, model_call, model_ask, runtime)> call_;
};

/// A middleware that only handles messages, so it works with every state type.
struct message_middleware {
  std::string name;                    ///< unique within an agent
  message_hook before_agent{};         ///< once per run, before the loop
  message_hook before_model{};         ///< before each call of the model
  message_hook after_model{};          ///< after each answer, before its tool calls
  message_hook after_agent{};          ///< once per run, after the loop
  model_interceptor wrap_model_call{}; ///< around each call of the model
  tool_interceptor wrap_tool_call{};   ///< around each tool call
  tool_list tools{};                   ///< added to the agent's tools
};

/// One middleware of create_agent(). All parts but the name are optional.
///
/// Each hook is a node, such as `NAME.before_model`, and therefore a step of the run. Hooks before
/// the loop and before the model run in the order of agent_options::middleware, and hooks after
/// them in reverse order. Of several wrappers around a call, the first is outermost. Any number
/// of runs use the functions at once.
/// Source: `AgentMiddleware` in langchain 1.4.7, agents/middleware/types.py.
template <class State>
struct middleware {
  /// A middleware without parts; its name must be set.
  middleware() = default;
  /// Makes a middleware from one that only handles messages, whose parts are moved.
  middleware(message_middleware m)
      : name{std::move(m.name)}, before_agent{std::move(m.before_agent)},
        before_model{std::move(m.before_model)}, after_model{std::move(m.after_model)},
        after_agent{std::move(m.after_agent)}, wrap_tool_call{std::move(m.wrap_tool_call)},
        tools{std::move(m.tools)} {
    if (m.wrap_model_call)
      wrap_model_call = std::move(m.wrap_model_call);
  }

  std::string name;                    ///< unique within an agent
  middleware_hook<State> before_agent; ///< once per run, before the loop
  middleware_hook<State> before_model; ///< before each call of the model
  middleware_hook<State> after_model;  ///< after each answer, before its tool calls
  middleware_hook<State> after_agent;  ///< once per run, after the loop
  model_wrap<State> wrap_model_call;   ///< around each call of the model
  tool_interceptor wrap_tool_call;     ///< around each tool call
  tool_list tools;                     ///< added to the agent's tools
};

} // namespace superstep

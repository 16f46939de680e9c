// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/task.hpp>
#include <superstep/messages/messages.hpp>
#include <superstep/models/chat_model.hpp>
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

/// What one call of an agent's model is made of: what interceptors see of it, and may change before
/// it goes on.
struct model_call {
  chat_model_ptr model;
  message_ptr system; ///< read before the messages; null: none
  message_list messages;
  tool_definitions tools; ///< null: the model has its own, or none
  std::uint32_t turn = 0; ///< number of the model's call in this run, from 0
  json::object parameters{};
  std::shared_ptr<const answer_schema> format{}; ///< of the answer's text; null: any
};

/// The failure of an answer of which somebody was told a piece: asked again, the model would say
/// something else.
class broken_answer : public std::system_error {
public:
  using std::system_error::system_error;
};

/// Asks the model (again). Throws what it fails with.
using model_ask = std::function<task<message>(model_call)>;
/// Stands around every call of a model; what it returns is the answer. Asks as often as it likes,
/// or not at all.
using model_interceptor = std::function<task<message>(model_call, model_ask, runtime)>;

// What create_agent() takes beside model and tools: code that runs around the parts of its loop.

/// Where a hook sends its agent, instead of on: to the beginning of the loop, to the tools with the
/// calls of the latest answer, or out of the loop. Hooks that run after the loop are no part of it:
/// for them `finish` is the end of the run.
enum class jump : std::uint8_t { none, model, tools, finish };

namespace detail {

/// Reads and writes the messages of a state; json_agent.hpp has the form for a JSON state.
template <class State>
struct agent_access {
  using update = superstep::update<State>;
  static const message_list& messages(const State& state) { return state.messages; }
  static void add_messages(update& to, message_list more) {
    to.add(set<&State::messages>(std::move(more)));
  }
};

} // namespace detail

/// The result of a hook of a middleware: its writes, and where the run continues.
template <class State>
struct hook_step {
  typename detail::agent_access<State>::update update{};
  jump to = jump::none;
};

/// The same of a hook that knows of messages alone; they are written under the rule add_messages.
struct message_step {
  message_list messages{};
  jump to = jump::none;
};
struct message_hook {
  /// The messages live until the task has ended. Empty: there is no hook.
  std::function<task<message_step>(const message_list&, runtime)> run{};
  std::vector<jump> jumps{}; ///< where it may jump to
};

/// A hook of a middleware, a node of the agent's graph: takes the state and the runtime, and
/// returns nothing, update<State> (json::object for a JSON state), a jump or a hook_step<State>, or a
/// task<> of one of these. The state lives until the task has ended.
template <class State>
class middleware_hook {
public:
  middleware_hook() = default;
  /// @param jumps where it may jump to; elsewhere is refused
  template <class F>
    requires(!std::same_as<std::remove_cvref_t<F>, middleware_hook> &&
             std::invocable<const F&, const State&, runtime>)
  middleware_hook(F f, std::vector<jump> jumps = {}) : jumps_{std::move(jumps)} {
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
  middleware_hook(message_hook hook) : jumps_{std::move(hook.jumps)} {
    if (hook.run)
      call_ = [run = std::move(hook.run)](const State& state, runtime rt) {
        return over_messages(run, access::messages(state), std::move(rt));
      };
  }
  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(call_); }
  [[nodiscard]] task<hook_step<State>> operator()(const State& state, runtime rt) const {
    return call_(state, std::move(rt));
  }
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
  /// The list is held until the task has ended.
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

/// Stands around every call of an agent's model: a function of the call and of how it is made
/// (model_interceptor); the runtime may be left out, and the state may stand before them. The state
/// lives until the task has ended.
template <class State>
class model_wrap {
public:
  model_wrap() = default;
  template <class F>
    requires(!std::same_as<std::remove_cvref_t<F>, model_wrap> &&
             (std::invocable<const F&, const State&, model_call, model_ask, runtime> ||
              std::invocable<const F&, model_call, model_ask, runtime> ||
              std::invocable<const F&, model_call, model_ask>))
  model_wrap(F f) {
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
  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(call_); }
  [[nodiscard]] task<message> operator()(const State& state, model_call call, model_ask ask,
                                         runtime rt) const {
    return call_(state, std::move(call), std::move(ask), std::move(rt));
  }

private:
  std::function<task<message>(const State&, model_call, model_ask, runtime)> call_;
};

/// A middleware for any state, because it knows of messages alone.
struct message_middleware {
  std::string name;
  message_hook before_agent{}, before_model{}, after_model{}, after_agent{};
  model_interceptor wrap_model_call{};
  tool_interceptor wrap_tool_call{};
  tool_list tools{};
};

/// One middleware of create_agent(): whatever of its parts is set.
///
/// Its hooks are nodes `NAME.before_model` and so on, steps of the run like any other. Those after
/// the model and after the run are called in reverse order, so that the first middleware has the
/// first word and the last. Of what stands around a call, the first is outermost.
template <class State>
struct middleware {
  middleware() = default;
  middleware(message_middleware m)
      : name{std::move(m.name)}, before_agent{std::move(m.before_agent)},
        before_model{std::move(m.before_model)}, after_model{std::move(m.after_model)},
        after_agent{std::move(m.after_agent)}, wrap_tool_call{std::move(m.wrap_tool_call)},
        tools{std::move(m.tools)} {
    if (m.wrap_model_call)
      wrap_model_call = std::move(m.wrap_model_call);
  }

  std::string name;                    ///< no two of an agent have the same
  middleware_hook<State> before_agent; ///< once, before the loop
  middleware_hook<State> before_model;
  middleware_hook<State> after_model; ///< before the calls of the answer are made
  middleware_hook<State> after_agent; ///< once, after the loop
  model_wrap<State> wrap_model_call;
  tool_interceptor wrap_tool_call;
  tool_list tools; ///< added to the agent's
};

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/detail/react_loop.hpp>
#include <superstep/agents/middleware.hpp>
#include <superstep/models/bind_tools.hpp>
#include <superstep/runtime/program.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace superstep::detail {

/// What the bodies of one agent share, whatever its state looks like; the compiled graph keeps it.
template <class State>
struct agent_core {
  std::string name;
  agent_model<State> model;
  agent_prompt<State> prompt;
  std::optional<response_format> response;
  tool_definitions tools;
  bool binds_tools; // the model object has none of its own
  react::tool_names return_direct;
  react::early_ptr early;
  // Of agents with middleware:
  std::vector<model_wrap<State>> around{};       // the first is outermost
  std::shared_ptr<const answer_schema> format{}; // of the last answer; null: any
  bool ends_politely = true;                     // when the steps run out
  std::optional<tool_node> answers_invalid{};    // null: calls that cannot be read are left

  using ptr = std::shared_ptr<const agent_core>;

  /// Takes the prompt, and replaces the tools when some may start early. Options:
  /// agent_options<State> or json_agent_options.
  template <class Options>
  explicit agent_core(Options& o)
      : name{o.name}, model{o.model}, prompt{std::move(o.prompt)}, response{o.response},
        tools{o.tools.node().definitions()}, binds_tools{!o.tools.empty() && o.model.object() &&
                                                         bound_tools(*o.model.object()) == nullptr},
        return_direct{o.return_direct.begin(), o.return_direct.end()} {
    if constexpr (requires {
                    o.early_tools;
                  }) // a wrap may still change a call: none with middleware
      early = react::make_early(o.tools, o.early_tools);
    if constexpr (requires { o.answer_invalid_calls; })
      if (o.answer_invalid_calls)
        answers_invalid = o.tools.node();
  }

  /// The tools of one call; null: the model has its own, or none. Interceptors see all of them.
  [[nodiscard]] tool_definitions tools_for(const chat_model& chosen) const {
    if (binds_tools || (!around.empty() && model.object()))
      return tools;
    return around.empty() ? nullptr : bound_tools(chosen);
  }

  /// Asks through everything that stands around a call, from the given place on.
  static task<message> ask(const ptr& agent, std::size_t from, model_call call, const State& state,
                           const runtime& rt) {
    if (from == agent->around.size())
      return react::ask_model(std::move(call), rt, agent->early);
    return agent->around[from](
        state, std::move(call),
        [agent, from, &state, rt](model_call changed) {
          return ask(agent, from + 1, std::move(changed), state, rt);
        },
        rt);
  }

  /// The model of one call. Refuses one with tools that are not the agent's.
  static task<chat_model_ptr> choose(ptr agent, const State& state, runtime rt) {
    if (agent->model.object())
      co_return agent->model.object();
    auto choosing = agent->model.choose()(state, rt);
    auto model = co_await choosing;
    if (!model)
      react::refuse("the function that chooses the model returned none");
    if (auto fault = react::misfit_of_chosen(*model, agent->tools))
      react::refuse(*std::move(fault));
    co_return model;
  }
};

/// What the graph of an agent is compiled with; taken out of the agent's options.
template <class Options>
[[nodiscard]] compile_options compile_options_of(Options& o) {
  auto out = compile_options{};
  if (!o.name.empty())
    out.name = o.name;
  out.checkpointer = std::move(o.checkpointer);
  out.store = std::move(o.store);
  out.interrupt_before = std::move(o.interrupt_before);
  out.interrupt_after = std::move(o.interrupt_after);
  out.debug = o.debug;
  return out;
}

} // namespace superstep::detail

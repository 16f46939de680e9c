// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/detail/react_loop.hpp>
#include <superstep/models/bind_tools.hpp>
#include <superstep/runtime/program.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>

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

  using ptr = std::shared_ptr<const agent_core>;

  /// Takes the prompt. Options: agent_options<State> or json_agent_options.
  template <class Options>
  explicit agent_core(Options& o)
      : name{o.name}, model{o.model}, prompt{std::move(o.prompt)}, response{o.response},
        tools{o.tools.node().definitions()}, binds_tools{!o.tools.empty() && o.model.object() &&
                                                         bound_tools(*o.model.object()) == nullptr},
        return_direct{o.return_direct.begin(), o.return_direct.end()} {}

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
  return out;
}

} // namespace superstep::detail

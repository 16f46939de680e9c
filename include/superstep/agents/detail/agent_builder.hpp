// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/agent_options.hpp>
#include <superstep/agents/detail/agent_table.hpp>
#include <superstep/base/assert.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace superstep::detail {

template <class State>
class agent_builder {
public:
  explicit agent_builder(agent_options<State>&& o) : options_{std::move(o)} {
    const auto& model = options_.model.object();
    SUPERSTEP_ASSERT(model != nullptr || options_.model.choose());
    react::check_tools(model.get(), options_.tools, options_.return_direct,
                       options_.post_model_hook && options_.version == react_version::v1);
    react::check_no_handoffs(options_.tools.node());
    core_ = std::make_shared<const agent_core<State>>(options_);
  }

  compiled_graph<State> build() {
    add_nodes();
    add_edges();
    return table_.compile(compile_options_of(options_));
  }

private:
  [[nodiscard]] bool has_tools() const noexcept { return !options_.tools.empty(); }
  [[nodiscard]] std::string entry() const {
    return options_.pre_model_hook ? react::pre_hook_name : react::agent_name;
  }
  [[nodiscard]] std::string exit() const {
    return options_.response ? react::structured_name : std::string{end_node};
  }

  void add_nodes() {
    if (options_.pre_model_hook)
      table_.add(react::pre_hook_name, hook_body(options_.pre_model_hook));
    if (options_.post_model_hook)
      table_.add(react::post_hook_name, hook_body(options_.post_model_hook));
    table_.add(react::agent_name, [core = core_](const State& state, runtime rt) {
      return agent_turns<State>::ask(core, state, std::move(rt));
    });
    if (options_.response) {
      if constexpr (requires(State& s) { s.structured_response; })
        table_.add(react::structured_name, [core = core_](const State& state, runtime rt) {
          return agent_turns<State>::ask_response(core, state, std::move(rt));
        });
      else
        react::refuse_options("Missing required key(s) {'structured_response'} in state_schema");
    }
    if (!has_tools())
      return;
    const auto takes_calls = options_.version == react_version::v2;
    table_.add_body(react::tools_name,
                    std::make_unique<agent_tools_body<State>>(options_.tools.node()), takes_calls,
                    answering_options<State>());
  }

  static auto hook_body(agent_hook<State> hook) {
    return [hook = std::move(hook)](const State& state, runtime rt) {
      return hook(state, std::move(rt));
    };
  }

  void add_edges() {
    table_.edge(std::string{start_node}, entry());
    if (options_.pre_model_hook)
      table_.edge(react::pre_hook_name, react::agent_name);
    if (options_.response)
      table_.edge(react::structured_name, std::string{end_node});
    if (options_.post_model_hook)
      table_.edge(react::agent_name, react::post_hook_name);
    const auto last = options_.post_model_hook ? react::post_hook_name : react::agent_name;
    if (!has_tools())
      return table_.edge(last, exit());
    add_loop(last);
  }

  void add_loop(const char* last) {
    // Names of destinations are views of what the routers hold.
    const auto again = std::make_shared<const std::string>(entry());
    const auto leave = std::make_shared<const std::string>(exit());
    if (options_.return_direct.empty())
      table_.edge(react::tools_name, *again);
    else
      table_.branch(react::tools_name,
                    [core = core_, again](const State& state) {
                      return react::ends_directly(state.messages, core->return_direct)
                                 ? destination{end_node}
                                 : destination{*again};
                    },
                    {*again, std::string{end_node}});
    const auto sends = options_.version == react_version::v2;
    // What comes last may be the answer to a call, given by a hook or to one that cannot be read.
    const auto is_looped = options_.post_model_hook || options_.answer_invalid_calls;
    table_.branch(
        last,
        [=](const State& state) {
          auto out = destinations{};
          for (const auto& call :
               is_looped ? react::pending_calls(state.messages) : state.messages.back().tool_calls)
            out.emplace_back(node<tool_call>{react::tools_name}, call);
          if (!out.empty() && !sends)
            out.assign(1, destination{react::tools_name});
          if (out.empty())
            out.emplace_back(
                is_looped && state.messages.back().type == message_type::tool ? *again : *leave);
          return out;
        },
        is_looped ? std::vector<std::string>{react::tools_name, *again, *leave}
                  : std::vector<std::string>{react::tools_name, *leave});
  }

  agent_options<State> options_;
  agent_table<State> table_;
  std::shared_ptr<const agent_core<State>> core_;
};

} // namespace superstep::detail

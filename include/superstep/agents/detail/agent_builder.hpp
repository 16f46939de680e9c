// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/agent_options.hpp>
#include <superstep/agents/detail/agent_core.hpp>
#include <superstep/agents/detail/described_fields.hpp>
#include <superstep/agents/detail/react_loop.hpp>
#include <superstep/base/assert.hpp>
#include <superstep/runtime/graph.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace superstep::detail {

/// Runs the calls of the latest answer (v1), or the one call of a Send (v2). No body of
/// graph<State>: a Send to one would have to carry the state that the tools may ask for.
template <class State>
class agent_tools_body final : public node_body {
public:
  explicit agent_tools_body(tool_node tools)
      : tools_{std::make_shared<const tool_node>(std::move(tools))} {}

  void run(const body_input& given, outcome& out) const override {
    const auto& state = static_cast<const struct_block<State>*>(given.state)->state;
    auto around = std::make_shared<const described_tool_state<State>>(state);
    auto input = given.payload != nullptr
                     ? tools_->from_call(given.payload->as<tool_call>(), std::move(around))
                     : tools_->from_state(std::move(around));
    out.rest = finish(tools_, std::move(input), given.make_runtime(), given.table);
  }
  const value_form* input_form() const override { return form_of<tool_call>(); }

private:
  static task<node_output> finish(std::shared_ptr<const tool_node> tools, tool_node_input input,
                                  runtime rt, const program* table) {
    auto running = tools->run(std::move(input), rt);
    auto came_of_it = co_await running;
    auto out = node_output{};
    auto answers = message_list{};
    const auto& key = tools->options().messages_key;
    for (auto& item : came_of_it.items) {
      if (auto* m = std::get_if<message>(&item)) {
        if (rt.streams_messages())
          rt.emit_message(value{*m});
        answers.push_back(std::move(*m));
      } else {
        add(std::get<tool_command>(std::move(item)), key, *table, answers, out);
      }
    }
    if (!answers.empty())
      out.writes.push_back({field_index<&State::messages>(), false, value{std::move(answers)}});
    co_return out;
  }

  static void add(tool_command said, const std::string& key, const program& table,
                  message_list& answers, node_output& out) {
    if (said.to_parent)
      react::refuse("a tool of graph '" + table.name() +
                    "' commands its parent, whose state is not known here; agents that hand over "
                    "have a JSON state");
    if (auto* update = std::get_if<tool_update>(&said.update)) {
      for (const auto& [name, v] : update->fields)
        out.writes.push_back(write_of_field<State>(name, v));
      if (update->messages)
        for (auto& m : *update->messages)
          answers.push_back(std::move(m));
    }
    auto go = [&](const tool_target& to) {
      if (to.input)
        react::refuse("tool messages of '" + key + "': a Send to node '" + to.node +
                      "' needs an input of the node's own type, which a tool cannot make");
      table.go_to(out, to.node);
    };
    if (const auto* one = std::get_if<tool_target>(&said.go_to))
      go(*one);
    else if (const auto* several = std::get_if<std::vector<tool_target>>(&said.go_to))
      std::ranges::for_each(*several, go);
  }

  std::shared_ptr<const tool_node> tools_;
};

/// How an agent asks its model about a described state.
template <class State>
struct agent_turns {
  using core_ptr = typename agent_core<State>::ptr;

  static const message_list& chosen(const State& state) {
    if constexpr (requires { state.llm_input_messages; })
      if (!state.llm_input_messages.empty())
        return state.llm_input_messages;
    return state.messages;
  }

  static task<update<State>> ask(core_ptr agent, const State& state, runtime rt) {
    auto turn = react::model_turn{};
    turn.messages = chosen(state);
    react::check_history(turn.messages);
    turn.turn = react::answers_in(state.messages);
    auto choosing = agent_core<State>::choose(agent, state, rt);
    turn.model = co_await choosing;
    if (agent->binds_tools)
      turn.tools = agent->tools;
    turn.system = agent->prompt.system();
    auto seen = std::optional<State>{}; // as long as the prompt is made
    if (agent->prompt.make()) {
      seen.emplace(state);
      seen->messages = turn.messages;
      auto making = agent->prompt.make()(*seen, rt);
      turn.messages = co_await making;
    }
    auto asking = react::ask_model(std::move(turn), rt);
    auto answer = co_await asking;
    auto added = message_list{};
    added.push_back(react::finished(std::move(answer), agent->name, rt.remaining_steps(),
                                    agent->return_direct));
    auto written = update<State>{set<&State::messages>(std::move(added))};
    co_return written;
  }

  static task<update<State>> ask_response(core_ptr agent, const State& state, runtime rt) {
    auto choosing = agent_core<State>::choose(agent, state, rt);
    auto model = co_await choosing;
    auto asking = react::ask_response(std::move(model), *agent->response, state.messages, rt);
    auto answer = co_await asking;
    auto written = update<State>{set<&State::structured_response>(std::move(answer))};
    co_return written;
  }
};

template <class State>
class agent_builder {
public:
  explicit agent_builder(agent_options<State>&& o) : options_{std::move(o)} {
    const auto& model = options_.model.object();
    SUPERSTEP_ASSERT(model != nullptr || options_.model.choose());
    react::check_tools(model.get(), options_.tools, options_.return_direct,
                       options_.post_model_hook && options_.version == react_version::v1);
    core_ = std::make_shared<const agent_core<State>>(options_);
  }

  compiled_graph<State> build() {
    table_.set_state([] { return state_ptr{new struct_block<State>}; });
    boost::mp11::mp_for_each<fields_of<State>>([this](auto d) {
      constexpr auto member = decltype(d)::pointer;
      using rule = typename rule_for<member, typename rules_of<State>::type>::type;
      table_.add_channel(make_channel<field_place<member>, rule>(d.name, {}));
    });
    add_nodes();
    add_edges();
    return compiled_graph<State>{table_.compile(compile_options_of(options_))};
  }

private:
  [[nodiscard]] bool has_tools() const noexcept { return !options_.tools.empty(); }
  [[nodiscard]] std::string entry() const {
    return options_.pre_model_hook ? react::pre_hook_name : react::agent_name;
  }
  [[nodiscard]] std::string exit() const {
    return options_.response ? react::structured_name : std::string{end_node};
  }

  template <class F>
  void add(const char* name, F body) {
    table_.add_node(name, std::make_unique<body_of<State, State, F>>(std::move(body)), false, {});
  }
  template <class R>
  void branch(std::string from, R route, const std::vector<std::string>& to) {
    auto declared = std::vector<std::pair<std::string, std::string>>{};
    for (const auto& name : to)
      declared.emplace_back(name, name);
    table_.add_branch(std::move(from), std::make_unique<router_of<State, R>>(std::move(route)),
                      std::move(declared));
  }
  void edge(std::string from, std::string to) {
    auto sources = std::vector<std::string>{};
    sources.push_back(std::move(from));
    table_.add_edge(std::move(sources), std::move(to));
  }

  void add_nodes() {
    if (options_.pre_model_hook)
      add(react::pre_hook_name, hook_body(options_.pre_model_hook));
    if (options_.post_model_hook)
      add(react::post_hook_name, hook_body(options_.post_model_hook));
    add(react::agent_name, [core = core_](const State& state, runtime rt) {
      return agent_turns<State>::ask(core, state, std::move(rt));
    });
    if (options_.response) {
      if constexpr (requires(State& s) { s.structured_response; })
        add(react::structured_name, [core = core_](const State& state, runtime rt) {
          return agent_turns<State>::ask_response(core, state, std::move(rt));
        });
      else
        react::refuse_options("Missing required key(s) {'structured_response'} in state_schema");
    }
    if (has_tools())
      table_.add_node(react::tools_name,
                      std::make_unique<agent_tools_body<State>>(options_.tools.node()),
                      options_.version == react_version::v2, {});
  }

  static auto hook_body(agent_hook<State> hook) {
    return [hook = std::move(hook)](const State& state, runtime rt) {
      return hook(state, std::move(rt));
    };
  }

  void add_edges() {
    edge(std::string{start_node}, entry());
    if (options_.pre_model_hook)
      edge(react::pre_hook_name, react::agent_name);
    if (options_.response)
      edge(react::structured_name, std::string{end_node});
    if (options_.post_model_hook)
      edge(react::agent_name, react::post_hook_name);
    const auto last = options_.post_model_hook ? react::post_hook_name : react::agent_name;
    if (!has_tools())
      return edge(last, exit());
    add_loop(last);
  }

  void add_loop(const char* last) {
    // Names of destinations are views of what the routers hold.
    const auto again = std::make_shared<const std::string>(entry());
    const auto leave = std::make_shared<const std::string>(exit());
    if (options_.return_direct.empty())
      edge(react::tools_name, *again);
    else
      branch(react::tools_name,
             [core = core_, again](const State& state) {
               return react::ends_directly(state.messages, core->return_direct)
                          ? destination{end_node}
                          : destination{*again};
             },
             {*again, std::string{end_node}});
    const auto sends = options_.version == react_version::v2;
    const auto is_looped = static_cast<bool>(options_.post_model_hook);
    branch(
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
  program_builder table_;
  std::shared_ptr<const agent_core<State>> core_;
};

} // namespace superstep::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/agent_options.hpp>
#include <superstep/agents/detail/agent_core.hpp>
#include <superstep/agents/detail/described_fields.hpp>
#include <superstep/agents/detail/middleware_parts.hpp>
#include <superstep/agents/detail/react_loop.hpp>
#include <superstep/runtime/graph.hpp>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// What all agents over a described struct are made of.
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

/// Of a node of tools: a call of its own that is stopped is that call's failure, not the run's;
/// calls that run together are answered together when the run is cancelled.
template <class State>
[[nodiscard]] node_options answering_options() {
  auto out = node_options{};
  out.on_failure = [](const body_input& given, const run_error& why) -> std::optional<node_output> {
    auto calls = std::vector<tool_call>{};
    if (given.payload != nullptr)
      calls.push_back(given.payload->as<tool_call>());
    else
      calls = react::pending_calls(
          static_cast<const struct_block<State>&>(*given.state).state.messages);
    auto answers = react::answer_stopped(calls, given.payload != nullptr, why);
    if (answers.empty())
      return std::nullopt;
    auto written = node_output{};
    written.writes.push_back({field_index<&State::messages>(), false, value{std::move(answers)}});
    return written;
  };
  return out;
}

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
    turn.tools = agent->tools_for(*turn.model);
    turn.format = agent->format;
    turn.system = agent->prompt.system();
    auto seen = std::optional<State>{}; // as long as the prompt is made
    if (agent->prompt.make()) {
      seen.emplace(state);
      seen->messages = turn.messages;
      auto making = agent->prompt.make()(*seen, rt);
      turn.messages = co_await making;
    }
    auto asking = agent_core<State>::ask(agent, 0, std::move(turn), state, rt);
    auto answer = co_await asking;
    co_return written(*agent, std::move(answer), rt);
  }

  static update<State> written(const agent_core<State>& agent, message answer, const runtime& rt) {
    const auto steps_left =
        agent.ends_politely ? rt.remaining_steps() : std::numeric_limits<std::int64_t>::max();
    auto out = update<State>{};
    if constexpr (requires(State& s) { s.structured_response; })
      if (agent.format && answer.tool_calls.empty())
        out.add(set<&State::structured_response>(react::read_response(answer, *agent.format)));
    const auto is_asked_again = agent.answers_invalid && !answer.invalid_tool_calls.empty();
    auto said = react::finished(std::move(answer), agent.name, steps_left, agent.return_direct,
                                is_asked_again);
    auto answers = std::vector<message>{};
    if (is_asked_again)
      for (const auto& call : said.invalid_tool_calls)
        answers.push_back(agent.answers_invalid->answer_invalid(call));
    auto added = message_list{};
    added.push_back(std::move(said));
    for (auto& one : answers)
      added.push_back(std::move(one));
    out.add(set<&State::messages>(std::move(added)));
    return out;
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

/// The graph of an agent while it is put together: the channels of the state are there.
template <class State>
class agent_table {
public:
  agent_table() {
    table_.set_state([] { return state_ptr{new struct_block<State>}; });
    boost::mp11::mp_for_each<fields_of<State>>([this](auto d) {
      constexpr auto member = decltype(d)::pointer;
      using rule = typename rule_for<member, typename rules_of<State>::type>::type;
      table_.add_channel(make_channel<field_place<member>, rule>(d.name, {}));
    });
  }

  template <class F>
  void add(const char* name, F body) {
    table_.add_node(name, std::make_unique<body_of<State, State, F>>(std::move(body)), false, {});
  }
  void add_body(std::string name, std::unique_ptr<const node_body> body, bool takes_payload = false,
                node_options options = {}) {
    table_.add_node(std::move(name), std::move(body), takes_payload, std::move(options));
  }
  template <class R>
  void branch(std::string from, R route, const std::vector<std::string>& to) {
    branch_by(std::move(from), std::make_unique<router_of<State, R>>(std::move(route)), to);
  }
  void branch_by(std::string from, std::unique_ptr<const router> route,
                 const std::vector<std::string>& to) {
    auto declared = std::vector<std::pair<std::string, std::string>>{};
    for (const auto& name : to)
      declared.emplace_back(name, name);
    table_.add_branch(std::move(from), std::move(route), std::move(declared));
  }
  void edge(std::string from, std::string to) {
    auto sources = std::vector<std::string>{};
    sources.push_back(std::move(from));
    table_.add_edge(std::move(sources), std::move(to));
  }
  [[nodiscard]] compiled_graph<State> compile(compile_options options) {
    return compiled_graph<State>{table_.compile(std::move(options))};
  }

private:
  program_builder table_;
};

} // namespace superstep::detail

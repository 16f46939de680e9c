// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/detail/agent_core.hpp>
#include <superstep/agents/detail/described_fields.hpp>
#include <superstep/agents/detail/middleware_parts.hpp>
#include <superstep/agents/detail/react_loop.hpp>
#include <superstep/agents/detail/sent_call.hpp>
#include <superstep/base/detail/make_unique_as.hpp>
#include <superstep/runtime/graph.hpp>
#include <superstep/tools/detail/direct_call.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// Nodes and routers of an agent over a described struct.
namespace superstep::detail {

/// The body of the node `tools`: runs the calls of the latest answer (v1), or the single call of a
/// Send (v2). It is not a function node of graph<State>, because such a node gets only the input of
/// its Send, and tools may also read the state.
template <class State>
class agent_tools_body final : public node_body {
public:
  using core_ptr = typename agent_core<State>::ptr;
  using front = agent_front<State>;

  explicit agent_tools_body(core_ptr agent) : agent_{std::move(agent)} {}

  void run(const body_input& given, outcome& out) const override {
    const auto& tools = *agent_->tools;
    auto observer = react::observer_of(agent_->context_of(**given.config));
    if (given.payload != nullptr) {
      out.rest = direct_call::begin(tools, react::sent_call_of(given), given, &state_of, observer);
      if (out.rest)
        return;
    }
    auto input = given.payload != nullptr
                     ? tools.from_call(react::sent_call_of(given), state_of(given))
                     : tools.from_state(state_of(given));
    input.observer = std::move(observer);
    out.rest = tools.run(std::move(input), given.make_runtime());
  }
  void finish(body_task& ended, const body_input& given, node_output& out) const override {
    if (!ended.returns<tool_output>())
      return add_items(ended.take<tool_node_output>().items, given, out);
    auto answer = direct_call::end(*agent_->tools, react::sent_call_of(given), ended);
    if (!answer.answer)
      return add_items(std::move(answer.items), given, out);
    auto got = results{out};
    take(got, std::move(answer.answer), given);
    write_answers(std::move(got));
  }
  const value_form* input_form() const override { return react::form_of_sent_calls(); }

private:
  /// The results of one activation: the node's output, and the answers that are written to it when
  /// all results have been collected.
  struct results {
    node_output& out;
    message_list answers{};
    std::size_t calls = 0;
  };

  [[nodiscard]] static tool_state_ptr state_of(const body_input& given) {
    return std::make_shared<const described_tool_state<State>>(
        static_cast<const struct_block<State>*>(given.state)->state);
  }

  void add_items(std::vector<tool_item>&& items, const body_input& given, node_output& out) const {
    auto got = results{out};
    for (auto& item : items) {
      auto* said = std::get_if<tool_command>(&item);
      const auto& key = agent_->tools->options().messages_key;
      if (said == nullptr) {
        take(got, std::make_shared<const message>(std::move(std::get<message>(item))), given);
      } else if (said->to_parent) { // the command ends the agent, so the other results are dropped
        out = {};
        out.to_parent = react::to_parent(std::move(*said), key);
        return;
      } else {
        add(std::move(*said), key, given, got);
      }
    }
    write_answers(std::move(got));
  }

  /// Adds an answer to the results, and streams it if the caller wants messages.
  static void take(results& got, message_ptr answer, const body_input& given) {
    react::stream_answer(given, *answer);
    got.answers.push_back(std::move(answer));
    ++got.calls;
  }

  /// Writes the collected answers to the node's output, in one update.
  static void write_answers(results&& got) {
    if (got.answers.empty())
      return;
    auto update = typename front::update{};
    update.writes().reserve(2);
    front::add_messages(update, std::move(got.answers));
    front::count_tools(update, got.calls);
    for (auto& one : update.writes())
      got.out.writes.push_back(std::move(one));
  }

  /// Adds the writes, messages and next nodes of a tool's command to the results, and streams the
  /// messages.
  static void add(tool_command said, const std::string& key, const body_input& given,
                  results& got) {
    if (auto* update = std::get_if<tool_update>(&said.update)) {
      for (const auto& [name, v] : update->fields)
        got.out.writes.push_back(write_of_field<State>(name, value{v}));
      if (update->messages)
        for (auto& m : *update->messages) {
          react::stream_new(
              given, static_cast<const struct_block<State>*>(given.state)->state.messages, m);
          got.calls += m.type == message_type::tool ? 1U : 0U;
          got.answers.push_back(std::move(m));
        }
    }
    for (auto& node : react::targets_of(said, key))
      given.table->go_to(got.out, node);
  }

  core_ptr agent_;
};

/// Returns the options of the node `tools`: if an activation is stopped, errors answer its calls,
/// so that the thread can continue. react::answer_stopped() decides which calls are answered.
template <class State>
[[nodiscard]] node_options answering_options() {
  auto out = node_options{};
  out.on_failure = [](const body_input& given, const run_error& why) -> std::optional<node_output> {
    using front = agent_front<State>;
    if (react::is_repeated(**given.config, why))
      return std::nullopt;
    auto calls = std::vector<tool_call>{};
    if (given.payload != nullptr)
      calls.push_back(react::sent_call_of(given));
    else
      calls = react::pending_calls(
          static_cast<const struct_block<State>&>(*given.state).state.messages);
    auto answers = react::answer_stopped(calls, given.payload != nullptr, why);
    if (answers.empty())
      return std::nullopt;
    auto update = typename front::update{};
    front::count_tools(update, answers.size());
    front::add_messages(update, std::move(answers));
    auto written = node_output{};
    written.writes = std::move(update.writes());
    return written;
  };
  return out;
}

/// Streams the messages that an update adds to the conversation.
template <class State>
void stream_new(update<State>& written, const State& before, const runtime& rt) {
  if (!rt.streams_messages())
    return;
  for (const auto& one : written.writes())
    if (one.channel == field_index<&State::messages>())
      if (const auto* messages = one.content.template get_if<message_list>())
        for (const auto& m : *messages)
          react::stream_new(rt, before.messages, m);
}

/// A middleware hook as a node. Its jump is passed to the node's router, so the state needs no
/// field for it.
template <class State>
class hook_body final : public node_body {
public:
  hook_body(std::string name, middleware_hook<State> hook)
      : name_{std::move(name)}, hook_{std::move(hook)} {}

  void run(const body_input& given, outcome& out) const override {
    const auto& state = static_cast<const struct_block<State>*>(given.state)->state;
    out.rest = hook_(state, given.make_runtime());
  }
  void finish(body_task& ended, const body_input& given, node_output& out) const override {
    auto step = ended.take<hook_step<State>>();
    react::check_jump(name_, hook_.jumps(), step.to);
    if (react::streams_messages(given))
      stream_new(step.update, static_cast<const struct_block<State>*>(given.state)->state,
                 given.make_runtime());
    out.writes = std::move(step.update.writes());
    if (step.to != jump::none)
      out.for_routers = std::make_shared<const jump>(step.to);
  }
  bool gives_commands() const override { return false; }

private:
  std::string name_;
  middleware_hook<State> hook_;
};

/// Activates the node or sends the calls of a continuation.
inline void follow(const react::exits& exits, react::continuation to, const program& table,
                   node_output& out) {
  if (to.calls.empty())
    return table.go_to(out, to.node);
  out.sends.reserve(out.sends.size() + to.calls.size());
  for (auto& call : to.calls) {
    const auto timeout = react::timeout_of(exits, call->name);
    table.send_to(out, react::tools_name, value{std::move(call)});
    out.sends.back().timeout = timeout;
  }
}

/// Routes to the next node after a hook or the model.
template <class State>
class loop_router final : public router {
public:
  explicit loop_router(react::exits exits) : exits_{std::move(exits)} {}

  void route(const body_input& given, const state_block& fresh, node_output& out) const override {
    const auto said = std::static_pointer_cast<const jump>(out.for_routers);
    follow(exits_,
           react::continue_after(exits_, said ? *said : jump::none,
                                 static_cast<const struct_block<State>&>(fresh).state.messages),
           *given.table, out);
  }

private:
  react::exits exits_;
};

/// Routes to the next node after the tools.
template <class State>
class tools_router final : public router {
public:
  tools_router(react::exits exits, react::tool_names return_direct)
      : exits_{std::move(exits)}, return_direct_{std::move(return_direct)} {}

  void route(const body_input& given, const state_block& fresh, node_output& out) const override {
    follow(
        exits_,
        react::continue_after_tools(
            exits_, static_cast<const struct_block<State>&>(fresh).state.messages, return_direct_),
        *given.table, out);
  }

private:
  react::exits exits_;
  react::tool_names return_direct_;
};

/// Builds the graph of an agent over a described struct. The specialisation for a JSON state is in
/// agents/json_agent.cpp.
template <class State>
class agent_table {
public:
  using front = agent_front<State>;
  using core_ptr = typename agent_core<State>::ptr;
  using graph = typename front::graph;

  explicit agent_table(const agent_options<State>& options) {
    if (options.response && !front::has_response)
      react::refuse_options("the state needs a field `structured_response` of type json::value, "
                            "because the agent has a response format");
    table_.set_state([] { return state_ptr{new struct_block<State>}; });
    add_channels_of<State>(table_);
  }

  /// Adds the node that calls the model.
  void add_model(const char* name, core_ptr agent) {
    add(name, [agent = std::move(agent)](const State& state, runtime rt) {
      return agent_turns<State>::ask(agent, state, std::move(rt));
    });
  }
  /// Adds the node that asks for the structured response after the loop.
  void add_response(core_ptr agent) {
    add(react::structured_name, [agent = std::move(agent)](const State& state, runtime rt) {
      return agent_turns<State>::ask_response(agent, state, std::move(rt));
    });
  }
  /// Adds the node that runs the tools.
  /// @param takes_calls whether each call is a Send to the node (v2)
  void add_tools(core_ptr agent, bool takes_calls) {
    react::check_injections(*agent->tools, {type_name(typeid(State)), tool_fields<State>(true),
                                            tool_fields<State>(false)});
    table_.add_node(react::tools_name,
                    make_unique_as<const node_body, agent_tools_body<State>>(std::move(agent)),
                    takes_calls, answering_options<State>());
  }
  /// Adds a pre_model_hook or post_model_hook as a node.
  void add_hook(const std::string& name, agent_hook<State> hook) {
    add(name, [hook = std::move(hook)](const State& state, runtime rt) {
      auto running = hook(state, rt);
      return rt.streams_messages() ? streamed(std::move(running), state, std::move(rt))
                                   : std::move(running);
    });
  }
  /// Adds a hook of a middleware as a node.
  void add_hook(const std::string& name, middleware_hook<State> hook) {
    table_.add_node(name, make_unique_as<const node_body, hook_body<State>>(name, std::move(hook)),
                    false, {});
  }
  /// Adds a router behind a hook or the model. `to` lists all nodes that it may choose.
  void route(std::string from, react::exits exits, const std::vector<std::string>& to) {
    branch(std::move(from), make_unique_as<const router, loop_router<State>>(std::move(exits)), to);
  }
  /// Adds a router behind the tools. `to` lists all nodes that it may choose.
  void route_tools(react::exits exits, react::tool_names return_direct,
                   const std::vector<std::string>& to) {
    branch(react::tools_name,
           make_unique_as<const router, tools_router<State>>(std::move(exits),
                                                             std::move(return_direct)),
           to);
  }
  /// Adds an edge without a condition.
  void edge(std::string from, std::string to) {
    auto sources = std::vector<std::string>{};
    sources.push_back(std::move(from));
    table_.add_edge(std::move(sources), std::move(to));
  }
  [[nodiscard]] graph compile(compile_options options) {
    return graph_access::make<State>(table_.compile(std::move(options)));
  }

private:
  static task<command<State>> streamed(task<command<State>> running, const State& state,
                                       runtime rt) {
    auto done = co_await running;
    stream_new(done.update, state, rt);
    co_return done;
  }
  template <class F>
  void add(std::string name, F body) {
    table_.add_node(std::move(name),
                    make_unique_as<const node_body, body_of<State, State, F>>(std::move(body)),
                    false, {});
  }
  void branch(std::string from, std::unique_ptr<const router> route,
              const std::vector<std::string>& to) {
    auto declared = std::vector<std::pair<std::string, std::string>>{};
    for (const auto& name : to)
      declared.emplace_back(name, name);
    table_.add_branch(std::move(from), std::move(route), std::move(declared));
  }

  program_builder table_;
};

} // namespace superstep::detail

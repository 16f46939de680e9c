// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/detail/agent_front.hpp>
#include <superstep/agents/detail/middleware_parts.hpp>
#include <superstep/agents/detail/react_loop.hpp>
#include <superstep/agents/middleware.hpp>
#include <superstep/models/chat_model.hpp>
#include <superstep/runtime/detail/program.hpp>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace superstep::detail {

/// The parts of an agent that its node bodies share. The compiled graph owns it.
template <class State>
struct agent_core {
  std::string name;
  chat_model_ptr model; // null if choose_model chooses the model of each call
  state_function<chat_model_ptr, State> choose_model;
  agent_prompt<State> prompt;
  std::shared_ptr<const tool_node> tools;
  tool_definitions definitions;
  bool binds_tools; // whether requests must contain the tools: the model has none bound
  react::tool_names return_direct;
  react::early_ptr early;                 // null if no call may start early
  std::vector<model_wrap<State>> wraps{}; // the first is outermost
  react::response_reader_ptr in_answer{}; // reads the response from the last answer; may be null
  react::response_reader_ptr separate{};  // reads the response of the separate call; may be null
  bool prompts_separate = false;          // whether the separate call gets the agent's prompt
  agent_rules rules;    // those of LangGraph end a run without remaining steps with an apology
  bool answers_invalid; // see agent_options::answer_invalid_calls
  bool follows_context; // see agent_options::follows_context

  using ptr = std::shared_ptr<const agent_core>;

  /// Moves prompt and wrappers out of the options. If tools may start early, replaces the tools in
  /// the options by a node that uses the early results.
  explicit agent_core(agent_options<State>& o)
      : name{o.name}, model{o.model.object()}, choose_model{o.model.choose()},
        prompt{std::move(o.prompt)}, return_direct{o.return_direct.begin(), o.return_direct.end()},
        rules{o.rules}, answers_invalid{o.answer_invalid_calls},
        follows_context{o.follows_context} {
    const auto has_late_hook =
        o.post_model_hook ||
        std::ranges::any_of(o.middleware, [](const auto& m) { return bool{m.after_model}; });
    early = react::make_early(o.tools, o.early_tools, has_late_hook);
    tools = std::make_shared<const tool_node>(o.tools.node());
    definitions = tools->definitions();
    binds_tools = !o.tools.empty() && model && bound_tools(*model) == nullptr;
    for (auto& m : o.middleware)
      if (m.wrap_model_call)
        wraps.push_back(std::move(m.wrap_model_call));
  }

  /// Returns the tools to put into a request to the model; null if those bound to the model
  /// suffice. With wrappers, bound tools are put into the request too, so that wrappers can change
  /// the list.
  [[nodiscard]] tool_definitions tools_for(const chat_model& chosen) const {
    if (binds_tools || (!wraps.empty() && model))
      return definitions;
    return wraps.empty() ? nullptr : bound_tools(chosen);
  }
  /// Completes the messages that the model reads, under LangChain's rules. Providers reject a
  /// history in which a call has no answer, also if its arguments could not be parsed.
  void repair(message_list& messages) const {
    if (rules == agent_rules::create_agent)
      react::answer_invalid_calls(messages, *tools);
  }
  /// Returns the options of the run's caller for this agent; null if there are none.
  [[nodiscard]] react::context_ptr context_of(const runtime& rt) const {
    return context_of(rt.config());
  }
  [[nodiscard]] react::context_ptr context_of(const run_config& config) const {
    return follows_context ? react::context_of(config) : nullptr;
  }
  /// Calls the model through all wrappers. An answer that a wrapper gives without the model is
  /// streamed here, because only answers of models are streamed where they arrive.
  static task<message> ask(ptr agent, model_call call, const State& state, runtime rt) {
    if (!rt.streams_messages())
      return ask(agent, 0, std::move(call), state, rt, nullptr);
    return ask_streaming(std::move(agent), std::move(call), state, std::move(rt));
  }
  static task<message> ask_streaming(ptr agent, model_call call, const State& state, runtime rt) {
    const auto has_answered = std::make_shared<bool>(false);
    auto asking = ask(agent, 0, std::move(call), state, rt, has_answered);
    auto answer = co_await asking;
    if (!*has_answered)
      rt.emit_message(value{answer});
    co_return answer;
  }
  /// Calls the model through the wrappers, starting with the one at index `from`.
  /// @param has_answered set when the model has answered; may be null
  /// @param is_separate whether the call only requests the structured response
  static task<message> ask(const ptr& agent, std::size_t from, model_call call, const State& state,
                           const runtime& rt, const std::shared_ptr<bool>& has_answered,
                           bool is_separate = false) {
    if (from == agent->wraps.size() && is_separate)
      return react::ask_separately(std::move(call), rt, agent->context_of(rt));
    if (from == agent->wraps.size()) {
      auto asking =
          react::ask_model_later(std::move(call), rt, agent->early, agent->context_of(rt));
      return has_answered ? noting(std::move(asking), has_answered) : std::move(asking);
    }
    return agent->wraps[from](
        state, std::move(call),
        [agent, from, &state, rt, has_answered, is_separate](model_call changed) {
          return ask(agent, from + 1, std::move(changed), state, rt, has_answered, is_separate);
        },
        rt);
  }
  static task<message> noting(task<message> asking, std::shared_ptr<bool> has_answered) {
    auto answer = co_await asking;
    *has_answered = true;
    co_return answer;
  }
  /// Returns the model of one call. Throws graph_error if a chosen model is null or has tools
  /// bound that the agent does not have.
  static task<chat_model_ptr> choose(ptr agent, const State& state, runtime rt) {
    if (agent->model)
      co_return agent->model;
    auto choosing = agent->choose_model(state, rt);
    auto chosen = co_await choosing;
    if (!chosen)
      react::refuse("the function that chooses the model returned a null pointer");
    if (auto fault = react::misfit_of_chosen(*chosen, agent->definitions))
      react::refuse(*std::move(fault));
    co_return chosen;
  }
};

/// The bodies of the nodes that call an agent's model.
template <class State>
struct agent_turns {
  using core = agent_core<State>;
  using core_ptr = typename core::ptr;
  using front = agent_front<State>;
  using update = typename front::update;

  /// The body of the model's node: calls the model and returns the writes for its answer.
  static task<update> ask(core_ptr agent, const State& state, runtime rt) {
    auto turn = react::model_turn{};
    turn.messages = front::chosen(state);
    agent->repair(turn.messages);
    react::check_history(turn.messages, front::is_unchecked(state));
    turn.turn = front::turn(state);
    turn.model = agent->model;
    if (!turn.model) {
      auto choosing = core::choose(agent, state, rt);
      turn.model = co_await choosing;
    }
    turn.tools = agent->tools_for(*turn.model);
    turn.system = agent->prompt.system();
    if (agent->prompt.make()) {
      auto making = make_prompt(agent, state, turn.messages, rt);
      turn.messages = co_await making;
    }
    if (agent->in_answer) {
      auto asking = ask_structured(agent, std::move(turn), state, rt);
      auto out = co_await asking;
      co_return out;
    }
    auto answer = react::answer_ptr{};
    if (agent->wraps.empty()) {
      auto asking = react::ask_model(std::move(turn), rt, agent->early, agent->context_of(rt));
      answer = co_await asking;
    } else {
      auto asking = core::ask(agent, std::move(turn), state, rt);
      answer = react::as_answer(co_await asking);
    }
    co_return written(*agent, std::move(answer), nullptr, front::answers_to_count(state), rt);
  }

  /// The body of the node `generate_structured_response`: asks the model for the structured
  /// response in a separate call after the loop.
  static task<update> ask_response(core_ptr agent, const State& state, runtime rt) {
    auto choosing = core::choose(agent, state, rt);
    auto turn = react::model_turn{};
    turn.model = co_await choosing;
    turn.messages = front::messages(state);
    agent->repair(turn.messages);
    turn.turn = front::turn(state);
    if (agent->prompts_separate) {
      turn.system = agent->prompt.system();
      if (agent->prompt.make()) {
        auto making = make_prompt(agent, state, turn.messages, rt);
        turn.messages = co_await making;
      }
    }
    auto ask = [agent, &state, rt](model_call call) {
      return core::ask(agent, 0, std::move(call), state, rt, nullptr, true);
    };
    auto asking = react::ask_response(agent->separate, std::move(turn), std::move(ask),
                                      agent->context_of(rt));
    auto answer = co_await asking;
    auto out = update{};
    front::set_response(out, std::move(answer.value));
    front::count_answer(out, &answer.usage, front::answers_to_count(state) + answer.answers - 1);
    co_return out;
  }

private:
  /// Calls the prompt function. This coroutine owns the copy of the state that the function reads,
  /// so the copy lives until the function's task has ended.
  static task<message_list> make_prompt(core_ptr agent, const State& state, message_list chosen,
                                        runtime rt) {
    const auto seen = front::seen_by_prompt(state, chosen);
    auto making = agent->prompt.make()(seen, rt);
    auto made = co_await making;
    co_return made;
  }

  /// Calls the model for an answer that may contain the structured response, and again if the
  /// response is invalid. Returns the writes.
  static task<update> ask_structured(core_ptr agent, model_call turn, const State& state,
                                     runtime rt) {
    agent->in_answer->prepare(turn);
    auto ask = [agent, &state, rt](model_call call) {
      return core::ask(agent, std::move(call), state, rt);
    };
    auto asking = react::ask_for_response(agent->in_answer, std::move(turn), std::move(ask),
                                          agent->context_of(rt));
    auto got = co_await asking;
    const auto answers = front::answers_to_count(state) + got.answers - 1;
    auto out = written(*agent, react::as_answer(std::move(got.answer)), &got.usage, answers, rt);
    if (got.has_value)
      front::set_response(out, std::move(got.value));
    else if (front::contains_response(state)) // of an earlier turn: this one may end without any
      front::set_response(out, nullptr);
    co_return out;
  }

  /// Returns the writes for an answer of the model: the message, error answers to its invalid tool
  /// calls, and the counters.
  /// @param tokens the token counts, if they are not those of the answer; otherwise null
  static update written(const core& agent, react::answer_ptr answer, const token_usage* tokens,
                        std::uint32_t answers_to_count, const runtime& rt) {
    const auto steps_left = agent.rules == agent_rules::create_react_agent
                                ? rt.remaining_steps()
                                : std::numeric_limits<std::int64_t>::max();
    auto out = update{};
    if constexpr (requires { out.writes(); })
      out.writes().reserve(3); // the answer and its two counters
    // The message owns its counts, and finish() may replace the message.
    auto own = std::optional<token_usage>{};
    if (tokens == nullptr && answer->usage)
      tokens = &own.emplace(*answer->usage);
    const auto will_retry_answer = agent.answers_invalid && !answer->invalid_tool_calls.empty();
    react::finish(*answer, agent.name, steps_left, agent.return_direct, will_retry_answer);
    auto answers = std::vector<message>{};
    if (will_retry_answer)
      for (const auto& call : answer->invalid_tool_calls)
        answers.push_back(agent.tools->answer_invalid(call));
    if (rt.streams_messages())
      for (const auto& one : answers)
        rt.emit_message(value{one});
    auto added = message_list{};
    added.push_back(std::move(answer));
    for (auto& one : answers)
      added.push_back(std::move(one));
    front::add_messages(out, std::move(added));
    front::count_answer(out, tokens, answers_to_count);
    front::count_tools(out, answers.size());
    return out;
  }
};

/// Returns the compile options of an agent's graph. Moves them out of the agent's options.
template <class State>
[[nodiscard]] compile_options compile_options_of(agent_options<State>& o) {
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

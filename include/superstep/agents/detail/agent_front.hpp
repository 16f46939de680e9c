// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/agent_options.hpp>
#include <superstep/agents/detail/react_loop.hpp>

#include <cstdint>
#include <utility>

namespace superstep::detail {

/// Reads and writes the state of an agent. The specialisation for JSON is in json_agent.hpp.
template <class State>
struct agent_front : agent_access<State> {
  using update = superstep::update<State>;
  using graph = compiled_graph<State>;

  static constexpr bool has_response = requires(State& s) { s.structured_response; };

  /// Returns the messages that the model reads in its next call.
  static const message_list& chosen(const State& state) {
    if constexpr (requires { state.llm_input_messages; })
      if (!state.llm_input_messages.empty())
        return state.llm_input_messages;
    return state.messages;
  }
  /// Returns the number of the model's next call, from 0. Answers are counted instead if the state
  /// has no counter, or if the thread was saved before its state had one.
  static std::uint32_t turn(const State& state) {
    if constexpr (requires { state.model_calls; })
      if (state.model_calls != 0)
        return state.model_calls;
    return react::answers_in(state.messages);
  }
  /// Returns the number to add to `model_calls` for the next answer. It is greater than 1 if the
  /// thread has older answers that the counter does not include yet; see turn().
  static std::uint32_t answers_to_count(const State& state) {
    if constexpr (requires { state.model_calls; })
      return turn(state) + 1 - state.model_calls;
    else
      return 0;
  }
  /// Whether the whole history must be checked before the model is called. If the state has a
  /// counter, only the first call needs the check, because the agent itself adds all later
  /// messages.
  static bool is_unchecked(const State& state) {
    if constexpr (requires { state.model_calls; })
      return state.model_calls == 0;
    else
      return true;
  }
  /// Returns the copy of the state that a prompt function gets.
  static State seen_by_prompt(const State& state, const message_list& chosen) {
    auto seen = state;
    seen.messages = chosen;
    return seen;
  }
  /// Whether the state contains a structured response.
  static bool contains_response(const State& state) {
    if constexpr (has_response)
      return !state.structured_response.is_null();
    else
      return false;
  }
  /// Writes the structured response, if the state has a field for it.
  static void set_response(update& to, json::value response) {
    if constexpr (has_response)
      to.add(set<&State::structured_response>(std::move(response)));
  }
  /// Adds an answer of the model to the counters that the state has.
  /// @param usage the token counts; null if the model has reported none
  /// @param answers see answers_to_count()
  static void count_answer(update& to, const token_usage* usage, std::uint32_t answers) {
    if constexpr (requires(State& s) { s.model_calls; })
      to.add(set<&State::model_calls>(answers));
    if constexpr (requires(State& s) { s.usage; })
      if (usage != nullptr)
        to.add(set<&State::usage>(*usage));
  }
  /// Adds answered tool calls to the counter, if the state has one.
  static void count_tools(update& to, std::size_t calls) {
    if constexpr (requires(State& s) { s.tool_calls; })
      if (calls > 0)
        to.add(set<&State::tool_calls>(static_cast<std::uint32_t>(calls)));
  }
};

} // namespace superstep::detail

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

  /// The messages that the model reads in this call.
  static const message_list& chosen(const State& state) {
    if constexpr (requires { state.llm_input_messages; })
      if (!state.llm_input_messages.empty())
        return state.llm_input_messages;
    return state.messages;
  }
  /// The number of the model's next call. Threads that were saved before the state had a counter
  /// contain answers, but no count.
  static std::uint32_t turn(const State& state) {
    if constexpr (requires { state.model_calls; })
      if (state.model_calls != 0)
        return state.model_calls;
    return react::answers_in(state.messages);
  }
  /// Returns what the next answer adds to the counter: 1, or more if earlier ones are not counted.
  static std::uint32_t answers_to_count(const State& state) {
    if constexpr (requires { state.model_calls; })
      return turn(state) + 1 - state.model_calls;
    else
      return 0;
  }
  /// Whether the history has not been checked yet. Later messages are checked when they are added.
  static bool is_unchecked(const State& state) {
    if constexpr (requires { state.model_calls; })
      return state.model_calls == 0;
    else
      return true;
  }
  /// The state as a prompt function sees it.
  static State seen_by_prompt(const State& state, const message_list& chosen) {
    auto seen = state;
    seen.messages = chosen;
    return seen;
  }
  /// Writes the structured response, if the state has a field for it.
  static void set_response(update& to, json::value response) {
    if constexpr (has_response)
      to.add(set<&State::structured_response>(std::move(response)));
  }
  /// Counts an answer of the model, as far as the state has counters.
  /// @param answers see answers_to_count()
  static void count_answer(update& to, std::optional<token_usage> usage, std::uint32_t answers) {
    if constexpr (requires(State& s) { s.model_calls; })
      to.add(set<&State::model_calls>(answers));
    if constexpr (requires(State& s) { s.usage; })
      to.add(set<&State::usage>(std::move(usage).value_or(token_usage{})));
  }
  /// Counts answered tool calls, if the state has a counter.
  static void count_tools(update& to, std::size_t calls) {
    if constexpr (requires(State& s) { s.tool_calls; })
      if (calls > 0)
        to.add(set<&State::tool_calls>(static_cast<std::uint32_t>(calls)));
  }
};

} // namespace superstep::detail

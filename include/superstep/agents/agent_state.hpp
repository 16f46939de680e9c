// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>
#include <superstep/messages/message_list.hpp>
#include <superstep/runtime/detail/fields.hpp>
#include <superstep/runtime/update.hpp>

#include <boost/describe/class.hpp>

#include <concepts>
#include <cstdint>
#include <functional>

namespace superstep {

/// Whether a type can be the state of an agent: a described struct with the conversation in
/// `messages`, a message_list with the reducer add_messages.
///
/// These fields are used if the state has them: `llm_input_messages` (message_list, the messages
/// that the model reads instead, set by a hook), `structured_response` (json::value), and the
/// counters of chat_state. The remaining steps are not a field but runtime::remaining_steps().
template <class State>
concept agent_state = detail::described<State> && requires(State& s) {
  { s.messages } -> std::same_as<message_list&>;
};

/// The default state of an agent.
/// Source: `AgentState` in LangGraph 1.2.22, prebuilt/chat_agent_executor.py.
struct messages_state {
  message_list messages{};           ///< the conversation
  message_list llm_input_messages{}; ///< what the model reads instead; empty: `messages`
  json::value structured_response{}; ///< see agent_options::response; null: none

  using reducers = superstep::reducers<by<&messages_state::messages, add_messages>>;
};
BOOST_DESCRIBE_STRUCT(messages_state, (), (messages, llm_input_messages, structured_response))

/// Reducer that sums the token counts of two model answers, including the detailed counts.
struct add_usage {
  void operator()(token_usage& into, token_usage&& more) const;
};

/// The state of agents described by agent files: messages_state and counters. The counters are part
/// of the state, so they are saved with the messages.
struct chat_state {
  message_list messages{};           ///< the conversation
  message_list llm_input_messages{}; ///< what the model reads instead; empty: `messages`
  json::value structured_response{}; ///< see agent_options::response; null: none
  std::uint32_t model_calls = 0; ///< answers of the model so far; also the number of its next call
  std::uint32_t tool_calls = 0;  ///< answered calls, with or without an error
  token_usage usage{};           ///< sum over the model calls

  using reducers = superstep::reducers<
      by<&chat_state::messages, add_messages>, by<&chat_state::model_calls, std::plus<>>,
      by<&chat_state::tool_calls, std::plus<>>, by<&chat_state::usage, add_usage>>;
};
BOOST_DESCRIBE_STRUCT(chat_state, (),
                      (messages, llm_input_messages, structured_response, model_calls, tool_calls,
                       usage))

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/agent_options.hpp>
#include <superstep/runtime/graph.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace superstep {

/// Returns the history with an error message for each tool call that has no answer. Makes the
/// history of a stopped run acceptable to every provider and agent.
/// @param why a sentence about what happened to the calls; part of the error messages
[[nodiscard]] message_list with_calls_answered(message_list messages, std::string_view why);

namespace detail {

/// Accessors for the messages of a graph's state.
struct messages_access {
  const message_list& (*read)(const state_block&);
  write_list (*write)(message_list);
};
std::size_t end_open_calls(const program_ptr& table, const std::string& thread_id,
                           std::string_view why, const messages_access& messages);

} // namespace detail

/// Answers the tool calls that a stopped run of an agent left open: with results that their tools
/// have already returned, or else with an error. The thread then continues after the tools: resume
/// the stopped run, or start one with new input. Do not call it while a run uses the thread.
/// @param why the text of the errors, a sentence
/// @return the number of calls that were answered with an error
/// @throws graph_error or checkpoint_error if the thread cannot be read or written
template <agent_state State>
std::size_t end_open_calls(const compiled_graph<State>& agent, const std::string& thread_id,
                           std::string_view why) {
  return detail::end_open_calls(
      detail::program_of(agent), thread_id, why,
      {[](const state_block& from) -> const message_list& {
         return static_cast<const struct_block<State>&>(from).state.messages;
       },
       [](message_list more) {
         return detail::input_writes(update{set<&State::messages>(std::move(more))});
       }});
}

} // namespace superstep

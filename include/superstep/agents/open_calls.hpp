// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/agent_options.hpp>
#include <superstep/runtime/graph.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace superstep {

/// Appends an error message for each tool call of the latest answer that has no result. Providers
/// and agents reject a history with unanswered calls. A stopped run may leave such a history. May
/// be called from any thread.
/// @param messages the history
/// @param why a sentence about what happened to the calls; part of the error messages
/// @return the completed history
[[nodiscard]] message_list with_calls_answered(message_list messages, std::string_view why);

namespace detail {

/// Accessors for the messages of a graph's state, independent of the state's type.
struct messages_access {
  const message_list& (*read)(const state_block&); ///< returns the messages of a state
  write_list (*write)(message_list);               ///< returns writes that add messages
};
/// The part of superstep::end_open_calls() that does not depend on the type of the state.
std::size_t end_open_calls(const program_ptr& table, const std::string& thread_id,
                           std::string_view why, const messages_access& messages);

} // namespace detail

/// Answers the tool calls that a stopped run of an agent left open. A call whose tool has already
/// returned gets that result, and every other call gets an error. The thread then continues after
/// the tools: resume the stopped run, or start one with new input.
///
/// Blocks until the thread is updated. May be called from any thread, but not while a run uses
/// `thread_id`.
/// @param agent a graph with a checkpointer, made by create_agent() or create_react_agent()
/// @param thread_id the thread to repair; nothing happens if it does not exist
/// @param why a sentence that becomes part of the errors
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

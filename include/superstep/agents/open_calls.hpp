// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/agent_options.hpp>
#include <superstep/runtime/graph.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace superstep {

/// A history with an error for each call that nothing answers: what a run that was stopped has got
/// to, in a form that every provider and agent takes.
/// @param why what became of the calls, a sentence
[[nodiscard]] message_list with_calls_answered(message_list messages, std::string_view why);

namespace detail {

/// How the messages of a graph's state are read and written.
struct messages_access {
  const message_list& (*read)(const state_block&);
  write_list (*write)(message_list);
};
std::size_t end_open_calls(const program_ptr& table, const std::string& thread_id,
                           std::string_view why, const messages_access& messages);

} // namespace detail

/// Answers the calls of an agent's thread that a stopped run left open: with what their tools have
/// given, or else with an error that says `why`. How many were answered with the error. The thread
/// can be gone on with as after the tools, by the run that was stopped or by one with new input.
/// Not while a run is on the thread. Throws graph_error and checkpoint_error.
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

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/agent.hpp>
#include <superstep/agents/agent_options.hpp>
#include <superstep/agents/open_calls.hpp>
#include <superstep/checkpoint/checkpoint.hpp>
#include <superstep/checkpoint/saver.hpp>
#include <superstep/checkpoint/store.hpp>

#include <memory>
#include <string>
#include <vector>

namespace superstep {

/// The agent of a file as a graph for conversations: its threads are kept by `keeper`, and the
/// calls that the file wants reviewed wait for a person. `memory` is its long-term memory (the key
/// `store` says where that is); null: none. Everything else is as in agent::graph().
/// The run's id is what the model is told: give a thread one id for all its runs.
[[nodiscard]] compiled_graph<messages_state> make_conversation(const agent& from,
                                                               std::shared_ptr<saver> keeper,
                                                               std::shared_ptr<store> memory = {});

/// Where a conversation stands.
struct conversation_state {
  message_list messages;
  std::vector<interrupt> questions; ///< what the thread waits for; see human_interrupt
  bool is_unfinished = false;       ///< something is left to run, with or without an answer
};
/// Not while a run is on the thread. Throws graph_error and saver_error.
[[nodiscard]] conversation_state look_at(const compiled_graph<messages_state>& conversation,
                                         const std::string& thread_id);

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/agent.hpp>
#include <superstep/agents/agent_state.hpp>
#include <superstep/agents/open_calls.hpp>
#include <superstep/checkpoint/checkpoint.hpp>
#include <superstep/checkpoint/checkpointer.hpp>
#include <superstep/checkpoint/store.hpp>

#include <memory>
#include <string>
#include <vector>

namespace superstep {

/// Returns agent::graph() with a place for its threads: they are saved by `checkpointer`, and
/// `memory` is the agent's long-term memory (the key `store` of the file names its database); null:
/// none.
///
/// The model gets the run's id with each call: use one run_id for all runs of a thread.
[[nodiscard]] compiled_graph<chat_state>
make_conversation(const agent& from, std::shared_ptr<superstep::checkpointer> checkpointer,
                  std::shared_ptr<store> memory = {});

/// Where a conversation stands.
struct conversation_state {
  message_list messages;
  std::vector<interrupt> questions; ///< what the thread waits for; see human_interrupt
  bool is_unfinished = false;       ///< something is left to run, with or without an answer
};
/// Not while a run is on the thread. Throws graph_error and checkpoint_error.
[[nodiscard]] conversation_state look_at(const compiled_graph<chat_state>& conversation,
                                         const std::string& thread_id);

} // namespace superstep

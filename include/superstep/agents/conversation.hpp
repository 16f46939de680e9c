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

/// Compiles the graph of an agent with a checkpointer, for conversations that are saved in threads.
///
/// The run's id is passed to the model with each call: use one run_id for all runs of a thread.
///
/// @param checkpointer where threads are saved; must not be null
/// @param memory the agent's long-term memory, whose database the key `store` of the agent file
/// names; null: none
[[nodiscard]] compiled_graph<chat_state>
make_conversation(const agent& from, std::shared_ptr<superstep::checkpointer> checkpointer,
                  std::shared_ptr<store> memory = {});

/// The state of a conversation between two runs.
struct conversation_state {
  message_list messages;            ///< all messages of the thread
  std::vector<interrupt> questions; ///< pending interrupts; see human_interrupt
  bool is_unfinished = false;       ///< whether the thread has nodes left to run
};
/// Returns the current state of a conversation; empty if the thread does not exist. Do not call it
/// while a run uses the thread.
/// @throws graph_error or checkpoint_error if the thread cannot be read
[[nodiscard]] conversation_state look_at(const compiled_graph<chat_state>& conversation,
                                         const std::string& thread_id);

} // namespace superstep

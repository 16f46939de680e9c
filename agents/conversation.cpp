// SPDX-License-Identifier: Apache-2.0
// Conversations with an agent: compiles its graph with a checkpointer, and reads a thread's state.
#include "agents/agent_graph.hpp"

#include <superstep/agents/agent_file.hpp>
#include <superstep/threads/snapshot.hpp>

#include <utility>

namespace superstep {

namespace {

const message_list& messages_of(const state_snapshot& from) {
  return static_cast<const struct_block<chat_state>&>(*from.state).state.messages;
}

} // namespace

compiled_graph<chat_state> make_conversation(const agent& from,
                                             std::shared_ptr<superstep::checkpointer> checkpointer,
                                             std::shared_ptr<store> memory) {
  auto options = detail::agent_graph_options{};
  options.checkpointer = std::move(checkpointer);
  options.memory = std::move(memory);
  return detail::make_agent_graph(from.spec(), from.model(), from.tools(), std::move(options));
}

conversation_state look_at(const compiled_graph<chat_state>& conversation,
                           const std::string& thread_id) {
  const auto found = get_state(detail::program_of(conversation), {thread_id});
  auto out = conversation_state{};
  if (!found.checkpoint)
    return out;
  out.messages = messages_of(found);
  out.questions = found.interrupts();
  out.is_unfinished = !found.next.empty();
  return out;
}

} // namespace superstep

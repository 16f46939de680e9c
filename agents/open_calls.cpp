// SPDX-License-Identifier: Apache-2.0
// Answers tool calls that have no answer in a thread because their run was stopped.
#include "agents/chat_history.hpp"
#include "tools/failed_call.hpp"

#include <superstep/agents/detail/middleware_parts.hpp>
#include <superstep/agents/detail/react_loop.hpp>
#include <superstep/agents/open_calls.hpp>
#include <superstep/threads/snapshot.hpp>

#include <algorithm>
#include <optional>
#include <utility>

namespace superstep {

namespace {

/// Returns the message that answers a call of the last AI message, from the messages of a state;
/// nullopt if there is none. Answers of earlier calls with the same id do not count. The message's
/// id is removed, because it was assigned in a step that did not complete.
std::optional<message> answer_in(const message_list& messages, const tool_call& call) {
  const auto* last = last_ai_message(messages);
  for (auto i = messages.size(); i > 0 && &messages[i - 1] != last; --i)
    if (const auto& m = messages[i - 1];
        m.type == message_type::tool && m.tool_call_id == call.id) {
      auto out = m;
      out.id.clear();
      return out;
    }
  return std::nullopt;
}

message stopped_answer(const tool_call& call, std::string_view why) {
  return failed_call(call, "The call was stopped before it ended: " + std::string{why});
}

/// Returns the node as which update_state() writes the answers: the tool node if the agent has one,
/// else the model's node. Agents without tools have no tool node, but their model may still call
/// tools.
std::string node_of_answers(const detail::program& table) {
  for (const auto* name : {react::tools_name, react::agent_name})
    if (table.find(name) != detail::program::no_node)
      return name;
  return react::model_name;
}

} // namespace

message_list with_calls_answered(message_list messages, std::string_view why) {
  for (const auto& call : react::pending_calls(messages))
    messages.push_back(stopped_answer(call, why));
  return messages;
}

std::size_t detail::end_open_calls(const detail::program_ptr& table, const std::string& thread_id,
                                   std::string_view why, const messages_access& messages) {
  const auto now = get_state(table, {thread_id});
  if (!now.checkpoint)
    return 0;
  // update_state() discards results of finished tasks if the step is incomplete, so the update
  // contains the existing answers again.
  const auto kept = get_state(table, {thread_id, now.checkpoint->id});
  auto answers = message_list{};
  auto stopped = std::size_t{0};
  for (const auto& call : react::pending_calls(messages.read(*kept.state))) {
    auto given = answer_in(messages.read(*now.state), call);
    stopped += given ? 0U : 1U;
    answers.push_back(given ? *std::move(given) : stopped_answer(call, why));
  }
  if (answers.empty())
    return 0;
  auto edit = detail::state_edit{};
  edit.values = messages.write(std::move(answers));
  edit.as_node = node_of_answers(*table);
  update_state(table, {thread_id}, std::move(edit));
  return stopped;
}

} // namespace superstep

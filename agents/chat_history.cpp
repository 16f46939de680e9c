// SPDX-License-Identifier: Apache-2.0
#include "agents/chat_history.hpp"

#include <algorithm>
#include <set>
#include <string_view>

namespace superstep {

namespace {

// Index of the latest AI message; size() when there is none.
std::size_t last_ai_index(const message_list& messages) {
  for (auto i = messages.size(); i > 0; --i)
    if (messages[i - 1].type == message_type::ai)
      return i - 1;
  return messages.size();
}

} // namespace

const message* last_ai_message(const message_list& messages) {
  const auto i = last_ai_index(messages);
  return i < messages.size() ? &messages[i] : nullptr;
}

std::optional<std::string> unanswered_call(const message_list& messages, bool whole) {
  auto answered = std::set<std::string_view>{};
  const auto from = whole ? std::size_t{0} : last_ai_index(messages);
  for (auto i = from; i < messages.size(); ++i)
    if (messages[i].type == message_type::tool)
      answered.insert(messages[i].tool_call_id);
  for (auto i = from; i < messages.size(); ++i)
    for (const auto& call : messages[i].tool_calls)
      if (!answered.contains(call.id))
        return "message " + std::to_string(i + 1) + " calls tool '" + call.name + "' (id '" +
               call.id +
               "'), and no tool message answers it; every tool call in the history must have its "
               "tool message, because most providers refuse it otherwise";
  return std::nullopt;
}

} // namespace superstep

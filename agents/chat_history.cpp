// SPDX-License-Identifier: Apache-2.0
#include "agents/chat_history.hpp"

#include <superstep/messages/python_text.hpp>

#include <boost/container/small_vector.hpp>

#include <algorithm>
#include <string_view>

namespace superstep {

namespace {

constexpr auto shown_max = 3; // calls that the text names

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
  auto answered = boost::container::small_vector<std::string_view, 16>{};
  const auto from = whole ? std::size_t{0} : last_ai_index(messages);
  for (auto i = from; i < messages.size(); ++i)
    if (messages[i].type == message_type::tool)
      answered.push_back(messages[i].tool_call_id);
  std::ranges::sort(answered);
  auto pending = std::string{};
  auto count = 0;
  for (auto i = from; i < messages.size(); ++i)
    for (const auto& call : messages[i].tool_calls)
      if (!std::ranges::binary_search(answered, std::string_view{call.id}) && ++count <= shown_max)
        pending +=
            (count == 1 ? "" : ", ") +
            python_literal(json::object{
                {"name", call.name}, {"args", call.args}, {"id", call.id}, {"type", "tool_call"}});
  if (count == 0)
    return std::nullopt;
  return "Found AIMessages with tool_calls that do not have a corresponding ToolMessage. Here are "
         "the first few of those tool calls: [" +
         pending +
         "].\n\nEvery tool call (LLM requesting to call a tool) in the message history MUST have a "
         "corresponding ToolMessage (result of a tool invocation to return to the LLM) - this is "
         "required by most LLM providers.";
}

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
// Checks that every tool call in a history has an answer, which providers require. Agents run this
// check in every turn. In the usual history, answers follow their calls in the same order, and one
// pass without allocations is enough.
#include "agents/chat_history.hpp"

#include <algorithm>
#include <vector>

namespace superstep {

namespace {

constexpr auto shown_max = 3; // number of calls that the error lists

/// Checks in one pass whether all calls of a message are answered, in the order of the calls,
/// before the next message with calls. Agents write histories in this order.
class answers_in_order {
public:
  void see(const message& m) {
    if (!m.tool_calls.empty()) {
      is_broken_ = is_broken_ || !is_answered();
      open_ = &m.tool_calls;
      next_ = 0;
    } else if (m.type == message_type::tool && !is_answered() &&
               (*open_)[next_].id == m.tool_call_id) {
      ++next_;
    }
  }
  [[nodiscard]] bool hold() const noexcept { return !is_broken_ && is_answered(); }

private:
  [[nodiscard]] bool is_answered() const noexcept {
    return open_ == nullptr || next_ == open_->size();
  }
  const std::vector<tool_call>* open_ = nullptr;
  std::size_t next_ = 0;
  bool is_broken_ = false;
};

bool is_in_order(const message_list& messages, std::size_t from) {
  auto order = answers_in_order{};
  if (from == 0)
    for (const auto& m : messages)
      order.see(m);
  else
    for (auto i = from; i < messages.size(); ++i)
      order.see(messages[i]);
  return order.hold();
}

} // namespace

std::size_t last_ai_index(const message_list& messages) {
  for (auto i = messages.size(); i > 0; --i)
    if (messages[i - 1].type == message_type::ai)
      return i - 1;
  return messages.size();
}

call_ids answered_calls(const message_list& messages, std::size_t from) {
  auto ids = call_ids{};
  for (auto i = from; i < messages.size(); ++i)
    if (messages[i].type == message_type::tool)
      ids.push_back(messages[i].tool_call_id);
  std::ranges::sort(ids);
  return ids;
}

bool is_answered(const tool_call& call, const call_ids& answered) {
  return std::ranges::binary_search(answered, std::string_view{call.id});
}

const message* last_ai_message(const message_list& messages) {
  const auto i = last_ai_index(messages);
  return i < messages.size() ? &messages[i] : nullptr;
}

std::optional<std::string> unanswered_call(const message_list& messages, bool whole) {
  const auto from = whole ? std::size_t{0} : last_ai_index(messages);
  if (is_in_order(messages, from))
    return std::nullopt;
  // Slow path for histories in which the answers have another order.
  const auto answered = answered_calls(messages, from);
  auto pending = std::string{};
  auto count = 0;
  for (auto i = from; i < messages.size(); ++i)
    for (const auto& call : messages[i].tool_calls)
      if (!std::ranges::binary_search(answered, std::string_view{call.id}) && ++count <= shown_max)
        pending +=
            (count == 1 ? "" : ", ") +
            to_text(json::object{
                {"name", call.name}, {"args", call.args}, {"id", call.id}, {"type", "tool_call"}});
  if (count == 0)
    return std::nullopt;
  return "tool calls of the messages have no answer; add a tool message with the id of each call, "
         "or remove the calls; on a thread, answer pending interrupts with resume(), or call "
         "end_open_calls() before a new turn; the first calls without answer: [" +
         pending + "]";
}

} // namespace superstep

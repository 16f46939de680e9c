// SPDX-License-Identifier: Apache-2.0
// Merges adjacent messages of one type. Each message is appended as if it were the next chunk of a
// stream, so that content, usage and metadata follow the rules of message_chunk.cpp.
#include <superstep/messages/history.hpp>
#include <superstep/messages/messages.hpp>

#include <iterator>
#include <optional>
#include <utility>

namespace superstep {

namespace {

template <class T>
void move_to_end(std::vector<T>& into, std::vector<T>&& more) {
  into.insert(into.end(), std::make_move_iterator(more.begin()),
              std::make_move_iterator(more.end()));
}

/// Appends the message `next` to a run, with the separator between two texts. The response metadata
/// of `next` is dropped; the run keeps that of its first message.
result<> merge(message_chunk& run, message next, std::string_view separator) {
  auto& m = run.part;
  if (!m.blocks && !next.blocks && !m.content.empty() && !next.content.empty())
    m.content += separator;
  next.response_metadata.clear();
  move_to_end(m.tool_calls, std::move(next.tool_calls));
  move_to_end(m.invalid_tool_calls, std::move(next.invalid_tool_calls));
  return append(run, message_chunk{std::move(next), {}, false});
}

/// Whether two adjacent messages can be merged. Tool messages answer different calls, and remove
/// messages delete different messages.
bool can_merge(const message& a, const message& b) {
  return a.type == b.type && a.type != message_type::tool && a.type != message_type::remove;
}

} // namespace

result<message_list> merge_message_runs(const message_list& messages, std::string_view separator) {
  auto out = message_list{};
  for (auto i = std::size_t{0}; i < messages.size();) {
    auto end = i + 1;
    while (end < messages.size() && can_merge(messages[i], messages[end]))
      ++end;
    if (end == i + 1) {
      out.push_back(messages.at_ptr(i));
    } else {
      auto run = message_chunk{messages[i], {}, false};
      for (auto j = i + 1; j < end; ++j)
        if (auto merged = merge(run, messages[j], separator); !merged)
          return std::move(merged).error();
      out.push_back(std::move(run.part));
    }
    i = end;
  }
  return out;
}

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
// Detects complete tool calls in a streamed answer. Providers send a call's arguments as fragments
// of JSON text. This file counts brackets, which is cheaper than parsing the text after each
// fragment.
#include "agents/call_listener.hpp"

#include "models/providers/answer_end.hpp"

#include <superstep/base/json.hpp>

#include <algorithm>
#include <utility>

namespace superstep {

call_listener::partial_call* call_listener::call_of(const tool_call_chunk& piece) {
  const auto found = std::ranges::find_if(calls_, [&](const partial_call& known) {
    const auto has_other_id = piece.id && !known.id.empty() && known.id != *piece.id;
    return !piece.index.is_null() && known.index == piece.index && !has_other_id;
  });
  if (found != calls_.end())
    return &*found;
  if (calls_.size() >= limits_.calls_max)
    return nullptr;
  auto& fresh = calls_.emplace_back();
  fresh.index = piece.index;
  return &fresh;
}

void call_listener::read(partial_call& call, std::string_view more) {
  for (const auto c : more) {
    const auto is_blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (call.is == partial_call::phase::closed && !is_blank)
      call.is = partial_call::phase::over;
    if (call.is == partial_call::phase::over)
      return;
    call.args += c;
    if (call.is_in_string) {
      if (call.is_escaped)
        call.is_escaped = false;
      else if (c == '\\')
        call.is_escaped = true;
      else if (c == '"')
        call.is_in_string = false;
    } else if (c == '"') {
      call.is_in_string = true;
    } else if (c == '{' || c == '[') {
      ++call.depth;
    } else if ((c == '}' || c == ']') && call.depth > 0 && --call.depth == 0) {
      call.is = partial_call::phase::closed;
    }
  }
}

void call_listener::finish(partial_call& call, std::vector<tool_call>& out) {
  call.is = partial_call::phase::over;
  // A call without an id is dropped: no tool message could refer to it.
  auto args = parse_json(std::exchange(call.args, {}));
  if (args && args->is_object() && !call.id.empty() && !call.name.empty())
    out.push_back({call.id, call.name, std::move(args->get_object())});
}

std::vector<tool_call> call_listener::add(const message_chunk& piece) {
  using phase = partial_call::phase;
  auto out = std::vector<tool_call>{};
  const auto goes_on = [&](const partial_call& call) {
    return std::ranges::any_of(piece.call_chunks, [&](const tool_call_chunk& part) {
      return !call.index.is_null() && part.index == call.index &&
             (!part.id || part.id->empty() || part.id == call.id);
    });
  };
  // A call without an index arrives in one piece. If the server reached its token limit, it may
  // have closed the call's JSON object itself, so the arguments may be incomplete. Such a call is
  // dropped.
  const auto is_cut = !providers::why_cut(piece.part.response_metadata).empty();
  while (done_ < calls_.size() && calls_[done_].is == phase::over)
    ++done_;
  for (auto i = done_; i < calls_.size(); ++i)
    if (calls_[i].is == phase::closed && calls_[i].index.is_null() && is_cut)
      calls_[i].is = phase::over;
    else if (calls_[i].is == phase::closed && !goes_on(calls_[i]))
      finish(calls_[i], out);
  for (const auto& part : piece.call_chunks) {
    auto* const call = call_of(part);
    if (call == nullptr || call->is == phase::over)
      continue;
    if (part.id && call->id.empty())
      call->id = *part.id;
    if (part.name)
      call->name += *part.name;
    if (!part.args)
      continue;
    if (call->args.size() + part.args->size() > limits_.bytes_max)
      call->is = phase::over;
    else
      read(*call, *part.args);
    const auto is_invalid =
        std::ranges::find(piece.part.invalid_tool_calls, call->id, &invalid_tool_call::id) !=
        piece.part.invalid_tool_calls.end();
    if (is_invalid)
      call->is = phase::over;
    else if (call->is == phase::closed && piece.is_last)
      finish(*call, out);
  }
  return out;
}

} // namespace superstep

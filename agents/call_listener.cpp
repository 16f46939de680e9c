// SPDX-License-Identifier: Apache-2.0
#include "agents/call_listener.hpp"

#include <superstep/base/json.hpp>

#include <algorithm>
#include <utility>

namespace superstep {

call_listener::heard_call* call_listener::call_of(const tool_call_chunk& piece) {
  const auto found = std::ranges::find_if(calls_, [&](const heard_call& known) {
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

bool call_listener::read(heard_call& call, std::string_view more) {
  for (const auto c : more) {
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
      return true;
    }
  }
  return false;
}

std::vector<tool_call> call_listener::hear(const message_chunk& piece) {
  auto out = std::vector<tool_call>{};
  for (const auto& part : piece.call_chunks) {
    auto* const call = call_of(part);
    if (call == nullptr || call->is_over)
      continue;
    if (part.id && call->id.empty())
      call->id = *part.id;
    if (part.name)
      call->name += *part.name;
    if (!part.args)
      continue;
    call->is_over = call->args.size() + part.args->size() > limits_.bytes_max;
    if (call->is_over || !read(*call, *part.args))
      continue;
    call->is_over = true;
    // Without an id nobody could tell whose answer it is.
    auto args = parse_json(std::exchange(call->args, {}));
    if (args && args->is_object() && !call->id.empty() && !call->name.empty())
      out.push_back({call->id, call->name, std::move(args->get_object())});
  }
  return out;
}

} // namespace superstep

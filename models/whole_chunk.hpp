// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/messages/messages.hpp>

namespace superstep::models {

/// Returns a piece of a stream that contains a complete answer.
[[nodiscard]] inline message_chunk whole_chunk(const message& answer) {
  auto out = message_chunk{};
  out.part = answer;
  out.is_last = true;
  for (const auto& call : answer.tool_calls)
    out.call_chunks.push_back({call.name, to_text(call.args), call.id, nullptr});
  for (const auto& call : answer.invalid_tool_calls)
    out.call_chunks.push_back({call.name, call.args, call.id, nullptr});
  return out;
}

} // namespace superstep::models

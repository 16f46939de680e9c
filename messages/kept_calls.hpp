// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/messages/message_chunk.hpp>

#include <vector>

namespace superstep {

/// Calls that an ai message has in additional_kwargs.tool_calls only, as a chat-completion server
/// sent them, become its calls. What is no JSON object becomes an invalid call.
void read_kept_calls(message&);

/// The same calls in a piece of a stream: their texts as they are, with the index by which they
/// find those of other pieces.
[[nodiscard]] std::vector<tool_call_chunk> pieces_of_kept_calls(const json::object& kwargs);

} // namespace superstep

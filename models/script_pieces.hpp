// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/messages/message_chunk.hpp>

#include <string_view>
#include <vector>

// How the scripted model cuts an answer into the pieces of a stream. They add up to the answer.
namespace superstep::models {

/// A text in pieces of about four bytes, a token each, never within a character.
[[nodiscard]] std::vector<std::string_view> text_pieces(std::string_view text);

[[nodiscard]] message_chunk text_chunk(std::string_view piece);

/// The pieces of all tool calls: of each its name and id, then its arguments as JSON text.
[[nodiscard]] std::vector<message_chunk> call_chunks(const message& answer);

/// The piece that ends an answer; holds its usage.
[[nodiscard]] message_chunk last_chunk_of(const message& answer);

} // namespace superstep::models

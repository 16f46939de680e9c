// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/messages/messages.hpp>

#include <string_view>
#include <vector>

// Splits an answer of the scripted model into the pieces of a stream. Merging the pieces gives the
// answer.
namespace superstep::models {

/// Splits a text into pieces of about four bytes, which count as one token each. Never splits a
/// UTF-8 character.
[[nodiscard]] std::vector<std::string_view> text_pieces(std::string_view text);

/// Returns a piece that contains this text.
[[nodiscard]] message_chunk text_chunk(std::string_view piece);

/// Returns the pieces of all tool calls: for each call a piece with its name and id, then its
/// arguments.
[[nodiscard]] std::vector<message_chunk> call_chunks(const message& answer);

/// Returns the last piece of an answer, which contains its usage.
[[nodiscard]] message_chunk last_chunk_of(const message& answer);

} // namespace superstep::models

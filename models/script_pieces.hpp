// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/messages/messages.hpp>

#include <string_view>
#include <vector>

// Splits an answer of the scripted model into the pieces of a stream, which add up to the answer.
namespace superstep::models {

/// Splits a text into pieces of about four bytes, one token each, never inside a UTF-8 character.
[[nodiscard]] std::vector<std::string_view> text_pieces(std::string_view text);

/// Returns a piece with this text.
[[nodiscard]] message_chunk text_chunk(std::string_view piece);

/// Returns the pieces of all tool calls: for each call its name and id, followed by its arguments.
[[nodiscard]] std::vector<message_chunk> call_chunks(const message& answer);

/// Returns the last piece of an answer, which contains its usage.
[[nodiscard]] message_chunk last_chunk_of(const message& answer);

} // namespace superstep::models

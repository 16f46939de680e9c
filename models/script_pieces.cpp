// SPDX-License-Identifier: Apache-2.0
// Splits the answers of scripted models into the pieces of a stream. Four bytes count as one token.
#include "models/script_pieces.hpp"

#include <superstep/base/json.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

namespace superstep::models {

std::vector<std::string_view> text_pieces(std::string_view text) {
  constexpr auto token_bytes = std::size_t{4};
  const auto is_continuation = [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
  };
  auto out = std::vector<std::string_view>{};
  out.reserve(text.size() / token_bytes + 1);
  for (auto begin = std::size_t{0}; begin < text.size();) {
    auto end = std::min(begin + token_bytes, text.size());
    while (end < text.size() && is_continuation(text[end]))
      ++end;
    out.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return out;
}

message_chunk text_chunk(std::string_view piece) {
  auto out = message_chunk{};
  out.part = ai_message(std::string{piece});
  return out;
}

std::vector<message_chunk> call_chunks(const message& answer) {
  // Pieces with the same index belong to one call. Only the first piece has a name and an id.
  auto out = std::vector<message_chunk>{};
  const auto add = [&](std::int64_t index, tool_call_chunk piece) {
    piece.index = index;
    auto chunk = text_chunk({});
    chunk.call_chunks.push_back(std::move(piece));
    out.push_back(std::move(chunk));
  };
  auto index = std::int64_t{0};
  for (const auto& call : answer.tool_calls) {
    add(index, {call.name, std::string{}, call.id, nullptr});
    const auto args = to_text(call.args);
    for (const auto piece : text_pieces(args))
      add(index, {std::nullopt, std::string{piece}, std::nullopt, nullptr});
    ++index;
  }
  return out;
}

message_chunk last_chunk_of(const message& answer) {
  auto out = text_chunk({});
  out.part.usage = answer.usage;
  out.is_last = true;
  return out;
}

} // namespace superstep::models

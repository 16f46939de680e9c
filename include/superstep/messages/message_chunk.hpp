// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/result.hpp>
#include <superstep/messages/message.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace superstep {

/// A piece of a streamed tool call. Members that the piece does not contain are unset.
struct tool_call_chunk {
  std::optional<std::string> name;
  std::optional<std::string> args; ///< a fragment of the JSON text
  std::optional<std::string> id;
  json::value index; ///< the call it belongs to (an integer or text); null: a call of its own

  friend bool operator==(const tool_call_chunk&, const tool_call_chunk&) = default;
};

/// A piece of a message that is being streamed, or the sum of several pieces.
struct message_chunk {
  /// The content of the piece. The tool calls of an ai chunk with `call_chunks` are those that the
  /// last read_calls() parsed.
  message part;
  std::vector<tool_call_chunk> call_chunks; ///< ai only
  bool is_last = false;                     ///< ai only: the final piece of the stream

  friend bool operator==(const message_chunk&, const message_chunk&) = default;
};

/// Appends the next piece of a stream to the sum of the earlier ones.
///
/// Content: strings are concatenated. A string before a list becomes the list's first element; a
/// string after a list is appended to a trailing string, unless it is empty. Block lists are merged
/// by merge_lists(). Pieces of tool calls with the same non-null index are joined unless both have
/// an id and the ids differ. Usage is added, metadata merged by merge_members(). An id assigned by
/// the provider takes precedence over a generated one (`lc_run-…` for a run, `lc_…` for a block).
/// Names are dropped. The tool calls of `into` are not updated: call read_calls() for that.
///
/// @return an error if two members cannot be merged, or if the chunks differ in type, chat role or
/// tool call id; `into` is then in an unspecified state
/// @par Complexity
/// O(size of `more`) amortised, plus the lookup of blocks and calls by index.
/// Source: `add_ai_message_chunks` in langchain-core 1.7.2, messages/ai.py.
[[nodiscard]] result<> append(message_chunk& into, message_chunk more);

/// Parses the pieces of tool calls received so far into `part.tool_calls`, with
/// parse_partial_json() and `{}` for absent arguments. Arguments that are not an object make an
/// invalid call. Costs O(size of all arguments); needed only to inspect calls before the stream
/// ends.
void read_calls(message_chunk&);

/// Returns the message that the pieces add up to, with its tool calls parsed as by read_calls().
[[nodiscard]] message to_message(message_chunk);

/// Returns the message of a finished answer. Unlike to_message() it does not complete truncated
/// arguments: they must be one whole JSON object (see parse_tool_call()). Otherwise the call
/// becomes an invalid_tool_call with the reason.
///
/// @param cut why generation stopped early, e.g. "the answer was cut (length)"; empty if the model
/// finished. A call without arguments in a truncated answer is invalid, because its arguments may
/// be what is missing.
[[nodiscard]] message to_answer(message_chunk, std::string_view cut = {});

/// Returns the JSON form of a chunk: that of a message, with `AIMessageChunk` (`HumanMessageChunk`,
/// …) as `type`. `tool_call_chunks` [{name, args, id, index, type: "tool_call_chunk"}] and
/// `chunk_position` "last" appear only where they apply.
[[nodiscard]] json::object to_json(const message_chunk&);
/// Reads the JSON form of a chunk. If an ai chunk has tool calls but no tool_call_chunks, a piece
/// is created for each call, so that later pieces can be appended.
///
/// @param path the prefix of the location in error texts
[[nodiscard]] result<message_chunk> chunk_from_json(const json::value&,
                                                    std::string_view path = "chunk");

} // namespace superstep

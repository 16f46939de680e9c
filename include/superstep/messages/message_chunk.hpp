// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/result.hpp>
#include <superstep/messages/message.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace superstep {

/// A piece of a tool call. What a piece does not say is absent.
struct tool_call_chunk {
  std::optional<std::string> name;
  std::optional<std::string> args; ///< a piece of the JSON text
  std::optional<std::string> id;
  json::value index; ///< which call it belongs to: an integer, text, or null for one of its own

  friend bool operator==(const tool_call_chunk&, const tool_call_chunk&) = default;
};

/// A piece of a message that is being streamed, or several added up.
struct message_chunk {
  /// What it says. Of ai chunks with `call_chunks` the calls are those read_calls() found there.
  message part;
  std::vector<tool_call_chunk> call_chunks; ///< ai only
  bool is_last = false;                     ///< ai only: nothing comes after it

  friend bool operator==(const message_chunk&, const message_chunk&) = default;
};

/// Adds the next piece; costs O(more) amortised, but for looking up indexed blocks and calls.
///
/// Content: strings concatenate; a string becomes the first element of a list that follows it,
/// and joins one before it, unless it is empty; blocks of lists are merged as merge_lists() says.
/// Pieces of calls with one index that is not null concatenate unless both have ids and these
/// differ. Usage adds; metadata is merged as merge_members() says. Of ids the first one a provider
/// gave wins over those given to a run (`lc_run-…`) and to a block
/// (`lc_…`). Names are dropped. The calls of `into` are not read again: see read_calls().
///
/// An error when two members do not add, or the chunks are of different types (chat chunks of
/// different roles, tool chunks of different calls, …); `into` must not be used after it.
[[nodiscard]] result<> append(message_chunk& into, message_chunk more);

/// Reads the calls from the pieces there are. Arguments are read by parse_partial_json(), none as
/// `{}`; what is no object becomes an invalid call. Costs O(all arguments); needed only by whoever
/// wants to see calls before their end.
void read_calls(message_chunk&);

/// The message that the pieces make, with its calls read.
[[nodiscard]] message to_message(message_chunk);

/// The message of an answer that has ended. Unlike to_message(), it reads no arguments that are cut
/// off: they must be one whole JSON object (see parse_tool_call()), else the call is invalid and
/// has the reason.
/// @param cut why the model could not write to the end; empty if it could. Without arguments a call
/// of an answer that was cut is invalid: they may be what is missing.
[[nodiscard]] message to_answer(message_chunk, std::string_view cut = {});

/// The message form with the type `AIMessageChunk` (`HumanMessageChunk`, …) and, where they hold
/// something, `tool_call_chunks` [{name, args, id, index, type: "tool_call_chunk"}] and
/// `chunk_position` "last".
[[nodiscard]] json::object to_json(const message_chunk&);
/// Reads that form. Ai chunks that have calls but no pieces of calls get a piece for each.
[[nodiscard]] result<message_chunk> chunk_from_json(const json::value&,
                                                    std::string_view path = "chunk");

} // namespace superstep

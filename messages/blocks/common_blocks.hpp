// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>
#include <superstep/messages/messages.hpp>

namespace superstep::blocks {

/// A message whose content is converted to standard blocks.
struct source {
  const message& whole;
  /// The piece of a tool call in a chunk, if the chunk has exactly one and is not the last chunk of
  /// its stream. Otherwise nullptr.
  const tool_call_chunk* piece = nullptr;
  bool is_chunk = false; ///< whether the message is a chunk, except the last chunk of a stream
};

/// Converts one element of content, independent of the provider. Standard blocks are returned
/// unchanged. Multimodal inputs of chat completions, of Anthropic and of the older form with
/// `source_type` are converted; anything else becomes non_standard.
///
/// @param position the index in the content, used for the ids of converted blocks without one
/// @return an error for an older form without a standard equivalent
[[nodiscard]] result<json::object> standard_block(const json::value& element, std::size_t position);

/// Appends the standard blocks of an Anthropic answer. @pre the content is a list
void add_anthropic_blocks(json::array& into, const source&);
/// Appends the standard blocks of an OpenAI answer. @pre the content is a list
void add_openai_blocks(json::array& into, const source&);
/// If `block` is a call of a tool that the provider runs, appends a call block and a result block.
/// Returns false, and appends nothing, for other blocks.
/// @param content the whole content; if it already contains the result, none is appended
bool add_openai_server_blocks(json::array& into, const json::object& block,
                              const json::array& content);

/// Returns `{type: "tool_call", name, args, id}`.
[[nodiscard]] json::object call_block(const tool_call&);
/// Returns `{type: "tool_call_chunk", name, args, id, index?}`.
[[nodiscard]] json::object call_chunk_block(const tool_call_chunk&);

} // namespace superstep::blocks

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>
#include <superstep/messages/messages.hpp>

namespace superstep::blocks {

/// A message to convert, and the stream that it came from.
struct source {
  const message& whole;
  /// In a chunk that is not the last: its tool call piece, if there is exactly one; else nullptr.
  const tool_call_chunk* piece = nullptr;
  bool is_chunk = false; ///< a chunk that is not the last
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
/// If `block` is a call of a provider-run tool, appends a call block and a result block. Returns
/// whether it is.
bool add_openai_server_blocks(json::array& into, const json::object& block,
                              const json::array& content);

/// Returns `{type: "tool_call", name, args, id}`.
[[nodiscard]] json::object call_block(const tool_call&);
/// Returns `{type: "tool_call_chunk", name, args, id, index?}`.
[[nodiscard]] json::object call_chunk_block(const tool_call_chunk&);

} // namespace superstep::blocks

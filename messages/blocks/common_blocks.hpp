// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/result.hpp>
#include <superstep/messages/message_chunk.hpp>

namespace superstep::blocks {

/// A message whose blocks are asked for, and what is known of the stream it came from.
struct source {
  const message& whole;
  /// The only piece of a call in a chunk of a stream that goes on, or nullptr.
  const tool_call_chunk* piece = nullptr;
  bool is_chunk = false; ///< of a stream that goes on
};

/// The standard block of one element of content, whoever wrote it: standard blocks as they are; the
/// multimodal inputs of chat completions, of Anthropic and of the older form with `source_type`
/// converted; anything else as non_standard. `position` makes ids for converted blocks that have
/// none. An error for an older form that has no standard one.
[[nodiscard]] result<json::object> standard_block(const json::value& element, std::size_t position);

/// Adds the standard blocks of an answer of Anthropic's models. @pre the content is a list
void add_anthropic_blocks(json::array& into, const source&);
/// Adds the standard blocks of an answer of OpenAI's models. @pre the content is a list
void add_openai_blocks(json::array& into, const source&);
/// A call that the provider ran itself, and its result, if `block` is one; false otherwise.
bool add_openai_server_blocks(json::array& into, const json::object& block,
                              const json::array& content);

/// `{type: "tool_call", name, args, id}`
[[nodiscard]] json::object call_block(const tool_call&);
/// `{type: "tool_call_chunk", name, args, id, index?}`
[[nodiscard]] json::object call_chunk_block(const tool_call_chunk&);

} // namespace superstep::blocks

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>
#include <superstep/base/result.hpp>
#include <superstep/messages/message_chunk.hpp>

namespace superstep {

/// Converts the content of a message to standard blocks, whichever provider produced it: text (with
/// annotations), reasoning, image, audio, video, file, text-plain, tool_call, tool_call_chunk,
/// invalid_tool_call, server_tool_call, server_tool_call_chunk, server_tool_result. A block without
/// a standard form becomes `{type: "non_standard", value}`.
///
/// `response_metadata.model_provider` selects the conversion (anthropic, openai); for other
/// providers it is chosen by the shape of the blocks. If `response_metadata.output_version` is
/// "v1", the content is already standard. Reasoning in `additional_kwargs.reasoning_content`
/// becomes the first block. Tool calls that have an id but no block are appended at the end. A
/// block that needs an id and has none gets `lc_block_<position>`.
///
/// @return the blocks; an error if a block can be represented neither in a standard form nor as
/// non_standard. The result is computed on each call and not cached.
/// Source: `BaseMessage.content_blocks` in langchain-core 1.7.2, messages/block_translators.
[[nodiscard]] result<json::array> content_blocks(const message&);
/// Converts the content of a streamed piece. Unless the chunk is the last one, its pieces of tool
/// calls become tool_call_chunk blocks, whose arguments are still text.
[[nodiscard]] result<json::array> content_blocks(const message_chunk&);

/// Returns a message with these standard blocks as content. For an ai message the tool_call blocks
/// also become its `tool_calls`.
[[nodiscard]] message message_of_blocks(message_type type, json::array blocks);

} // namespace superstep

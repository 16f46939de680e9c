// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>
#include <superstep/base/result.hpp>
#include <superstep/messages/message_chunk.hpp>

namespace superstep {

/// The content of a message as standard blocks, whichever provider wrote it: text (with
/// annotations), reasoning, image, audio, video, file, text-plain, tool_call, tool_call_chunk,
/// invalid_tool_call, server_tool_call, server_tool_call_chunk, server_tool_result; what has no
/// standard form is `{type: "non_standard", value}`. Nothing is cached: ask once.
///
/// Who wrote it is in response_metadata.model_provider (anthropic, openai; others are read by what
/// the blocks look like). `output_version` "v1" there says that the content is standard already.
/// Tool calls with an id that are no block yet come last; reasoning that servers send beside the
/// text (additional_kwargs.reasoning_content) comes first. Blocks that need an id and have none get
/// `lc_block_<position>`.
///
/// An error when a block has no standard form and cannot stand for itself.
[[nodiscard]] result<json::array> content_blocks(const message&);
/// Of a chunk of a stream that goes on, pieces of calls are tool_call_chunk blocks.
[[nodiscard]] result<json::array> content_blocks(const message_chunk&);

/// A message made of standard blocks. The tool_call blocks of an ai message are its calls as well.
[[nodiscard]] message message_of_blocks(message_type type, json::array blocks);

} // namespace superstep

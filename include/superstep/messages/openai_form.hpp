// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>
#include <superstep/base/result.hpp>
#include <superstep/messages/message_list.hpp>

#include <cstdint>
#include <string_view>

namespace superstep {

/// The form of text content: one string, or a list of text blocks.
enum class text_format : std::uint8_t { string, block };

/// Converts messages to the chat-completions form, whichever provider's blocks they contain. Images
/// become `image_url` (base64 data as a data URL), files `file`, audio `input_audio`. Anthropic's
/// tool_use and tool_result blocks become tool calls and tool messages. Other blocks of ai messages
/// are kept as they are.
///
/// @param format with `string`, lists of text blocks are joined by line breaks
/// @return an error for a block that the form cannot represent: an image by id, a file by URL,
/// video, a plain-text document
/// Source: `convert_to_openai_messages` in langchain-core 1.7.2, messages/utils.py.
[[nodiscard]] result<json::array> to_openai_messages(const message_list&, text_format format);

/// Returns the chat-completions role of a message: user, assistant, system, developer, tool,
/// function, or the role of a chat message.
[[nodiscard]] std::string_view openai_role(const message&);

/// The OpenAI API that a block is converted for.
enum class openai_api : std::uint8_t { chat_completions, responses };

/// Whether a block is an image, audio, video, file or text-plain block with its data, in the
/// standard form or in the older form with `source_type`.
[[nodiscard]] bool is_data_block(const json::object& block);
/// Converts such a block to the form of an OpenAI API. Returns an error with the reason if the API
/// does not accept it.
[[nodiscard]] result<json::object> to_openai_data_block(const json::object& block, openai_api);

} // namespace superstep

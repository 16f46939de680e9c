// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>
#include <superstep/base/result.hpp>
#include <superstep/messages/message_list.hpp>

#include <cstdint>
#include <string_view>

namespace superstep {

/// Whether text content becomes one string or a list of text blocks.
enum class text_format : std::uint8_t { string, block };

/// Messages as dictionaries of the chat-completions form, whichever provider's blocks they hold.
/// `string` joins lists of text blocks with line breaks. Images become image_url (base64 as a data
/// URL), files `file`, audio `input_audio`; Anthropic's tool_use and tool_result blocks become
/// calls and tool messages; other blocks of answers stay as they are. An error for a block that the
/// form cannot say: an image by id, a file by URL, video, a plain-text document.
[[nodiscard]] result<json::array> to_openai_messages(const message_list&, text_format);

/// user, assistant, system or developer, tool, function, or the role of a chat message.
[[nodiscard]] std::string_view openai_role(const message&);

enum class openai_api : std::uint8_t { chat_completions, responses };

/// Image, audio, video, file or text-plain block that carries its data, in the standard form or the
/// older one with `source_type`.
[[nodiscard]] bool is_data_block(const json::object& block);
/// Such a block as OpenAI takes it. An error says why it cannot.
[[nodiscard]] result<json::object> to_openai_data_block(const json::object& block, openai_api);

} // namespace superstep

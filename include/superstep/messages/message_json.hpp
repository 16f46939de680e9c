// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>
#include <superstep/base/json.hpp>
#include <superstep/messages/messages.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace superstep {

// Conversion of messages from and to JSON.

/// Returns the name of a message type in JSON: human, ai, system, tool, remove, chat or function.
/// May be called from any thread.
[[nodiscard]] std::string_view to_string(message_type) noexcept;

/// Returns the JSON form of a message, used for storage and output. Always present: `type` and
/// `content` (text or a list of blocks); for a chat message also `role`. Present if not empty:
/// `name`, `id`, `tool_calls` [{name, args, id, type: "tool_call"}], `invalid_tool_calls` [{name,
/// args, id, error, type: "invalid_tool_call"}], `usage_metadata`, `tool_call_id`, `status` (only
/// "error"), `artifact`, `additional_kwargs`, `response_metadata`. May be called from any thread.
[[nodiscard]] json::object to_json(const message&);
/// Appends the text of to_json(), several times faster because it builds no tree. May be called
/// from any thread.
void append_json(std::string& out, const message&);
/// Appends a conversation as a JSON list of messages. May be called from any thread.
void append_json(std::string& out, const message_list&);

/// Reads one message in any of the usual forms: the form of to_json(); a chat-completions message
/// (`role`, `content`, `tool_calls` with `function.arguments` as text, `tool_call_id`); a pair
/// `[role, content]`; or a string, which becomes a human message. May be called from any thread.
///
/// Roles: user and human, assistant and ai, system, developer (a system message whose role is kept
/// in additional_kwargs.__openai_role__), tool, function, remove. Unknown members go to
/// additional_kwargs. Chat-completions calls that appear only in additional_kwargs.tool_calls are
/// parsed into `tool_calls`.
///
/// @param path the prefix of the location in error texts, e.g. `messages[2]`
/// @return the message; errc::parse_failed with the path of the first invalid member
///
/// Source: `convert_to_messages` in langchain-core 1.7.2, messages/utils.py.
[[nodiscard]] result<message> message_from_json(const json::value&,
                                                std::string_view path = "message");
/// Reads a list of messages, or one message that is not in a list. Each message may have any form
/// that message_from_json() reads. May be called from any thread.
/// @param path the prefix of the location in error texts
/// @return the messages; errc::parse_failed with the path of the first invalid member, which starts
/// with the position of the message, e.g. `messages[2].role`
[[nodiscard]] result<message_list> messages_from_json(const json::value&,
                                                      std::string_view path = "messages");

/// Returns the stored form of langchain-core, `{type, data}`. `data` contains every member of the
/// message type; empty ones are null, [] or {}. May be called from any thread.
///
/// Source: `messages_to_dict` in langchain-core 1.7.2, messages/base.py.
[[nodiscard]] json::object to_dict(const message&);
/// Returns the `{type, data}` form of a chunk. `type` is for example "AIMessageChunk". May be
/// called from any thread.
[[nodiscard]] json::object to_dict(const message_chunk&);

/// Reads the form that to_dict() returns. A chunk is converted to a message with the chunk's
/// content and calls. May be called from any thread.
///
/// @param path the prefix of the location in error texts
/// @return the message; errc::parse_failed with the path of the first invalid member
[[nodiscard]] result<message> message_from_dict(const json::value&,
                                                std::string_view path = "message");

/// Converts the content of a message to standard blocks, whichever provider produced it: text (with
/// annotations), reasoning, image, audio, video, file, text-plain, tool_call, tool_call_chunk,
/// invalid_tool_call, server_tool_call, server_tool_call_chunk, server_tool_result. A block without
/// a standard form becomes `{type: "non_standard", value}`. May be called from any thread.
///
/// For ai messages, `response_metadata.model_provider` selects the conversion (anthropic, openai).
/// For other providers and message types, it is chosen by the shape of the blocks. If
/// `response_metadata.output_version` is "v1", the content is already standard. Reasoning in
/// `additional_kwargs.reasoning_content` becomes the first block. Tool calls that have an id but no
/// block are appended at the end. A block that needs an id and has none gets `lc_block_<position>`.
///
/// @return the blocks; errc::parse_failed if a block can be represented neither in a standard form
/// nor as non_standard. The result is computed on each call and not cached.
///
/// Source: `BaseMessage.content_blocks` in langchain-core 1.7.2, messages/block_translators.
[[nodiscard]] result<json::array> content_blocks(const message&);
/// Converts the content of a streamed piece. Unless the chunk is the last one, its pieces of tool
/// calls become tool_call_chunk blocks, whose arguments are still text. The errors are those of the
/// overload above. May be called from any thread.
[[nodiscard]] result<json::array> content_blocks(const message_chunk&);

/// Returns a message with these standard blocks as content. For an ai message the tool_call blocks
/// also become its `tool_calls`; a block without `args` becomes a call with empty arguments. The
/// blocks are not checked. May be called from any thread.
[[nodiscard]] message message_of_blocks(message_type type, json::array blocks);

/// The form of text content: one string, or a list of text blocks.
enum class text_format : std::uint8_t { string, block };

/// Converts messages to the chat-completions form, whichever provider's blocks they contain. Images
/// become `image_url` (base64 data as a data URL), files `file`, audio `input_audio`. Anthropic's
/// tool_use and tool_result blocks become tool calls and tool messages. Blocks of other types are
/// kept as they are. May be called from any thread.
///
/// @param format with `string`, lists of text blocks are joined by line breaks
/// @return the messages; errc::invalid_argument for a block that lacks a required member, and for
/// one that the form cannot represent: an image by id, a file by URL, video, a plain-text document
///
/// Source: `convert_to_openai_messages` in langchain-core 1.7.2, messages/utils.py.
[[nodiscard]] result<json::array> to_openai_messages(const message_list&, text_format format);

/// Returns the chat-completions role of a message: user, assistant, system, developer, tool,
/// function, or the role of a chat message. A remove message counts as user. The text is valid as
/// long as the message is unchanged. May be called from any thread.
[[nodiscard]] std::string_view openai_role(const message&);

/// The OpenAI API that a block is converted for.
enum class openai_api : std::uint8_t { chat_completions, responses };

/// Returns whether a block has the type image, audio, video, file or text-plain and contains or
/// links its data, in the standard form or in the older form with `source_type`. May be called from
/// any thread.
[[nodiscard]] bool is_data_block(const json::object& block);
/// Converts a block for which is_data_block() is true to the form of an OpenAI API. May be called
/// from any thread.
/// @return the block; errc::invalid_argument with the reason if the API does not accept it
[[nodiscard]] result<json::object> to_openai_data_block(const json::object& block, openai_api);

} // namespace superstep

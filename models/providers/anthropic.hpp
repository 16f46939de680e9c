// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/providers/provider_format.hpp"

#include <string>

/// Anthropic's Messages API: https://docs.anthropic.com/en/api/messages
namespace superstep::anthropic {

/// Builds the body for `POST /v1/messages`. System messages become `system`. Adjacent human and
/// tool messages become one user turn, in which tool results are tool_result blocks. Tool calls
/// become tool_use blocks. An empty answer is omitted unless it is the last message.
///
/// @return model_errc::bad_request for an invalid `tool_choice`, and for what the API does not
/// support: audio, video, and messages of type chat, function or remove
///
/// Source: `ChatAnthropic._get_request_payload` in langchain-anthropic, chat_models.py.
[[nodiscard]] result<provider_request> make_request(provider_question);

/// Reads a complete answer. A single text block becomes the text of the message; other content
/// remains a list of blocks. Returns model_errc::bad_answer if the answer reports an error or has
/// no `content`.
[[nodiscard]] result<message> read_response(const json::object& answer);

/// Converts token counts. Input tokens include those read from and written to the cache.
[[nodiscard]] token_usage read_usage(const json::object& usage);

/// Converts the events of one stream to message chunks. Events must be read in order.
class event_reader {
public:
  /// @param text_only whether text is returned as strings (for requests without tools, thinking and
  /// documents) or as blocks with an index
  explicit event_reader(bool text_only) noexcept : text_only_{text_only} {}

  /// Reads one event. Returns nullopt for an event without content, such as `ping`.
  [[nodiscard]] chunk_result read(const json::object& event);

private:
  [[nodiscard]] message_chunk start(const json::object& event);
  [[nodiscard]] std::optional<message_chunk> start_text(const json::object& block,
                                                        const json::object& event) const;
  [[nodiscard]] std::optional<message_chunk> start_block(const json::object& event);
  [[nodiscard]] std::optional<message_chunk> delta(const json::object& event) const;
  [[nodiscard]] chunk_result end(const json::object& event);
  [[nodiscard]] message_chunk empty_chunk() const;

  bool text_only_;
  bool has_ended_ = false; ///< a stop reason was read
  std::string block_type_; ///< type of the current block
  /// Latest token counts, because the last event may omit counts of the first.
  json::object usage_;
  optional_box<token_usage> reported_; ///< usage that earlier chunks have reported
};

} // namespace superstep::anthropic

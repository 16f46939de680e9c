// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/models/providers/provider_format.hpp>

#include <string>

/// Anthropic's messages.
namespace superstep::anthropic {

/// `POST /v1/messages`. System messages become `system`; adjacent human and tool messages one turn;
/// results of tools tool_result blocks, calls tool_use blocks. Answers that say nothing are left
/// out, unless they are last. Sound and video cannot be sent, nor chat and function messages.
[[nodiscard]] result<provider_request> make_request(provider_question);

/// A lone text becomes the text of the message; anything else stays the list of blocks it is.
[[nodiscard]] result<message> read_response(const json::object& answer);

[[nodiscard]] token_usage read_usage(const json::object& usage);

/// Reads the events of one stream in their order.
class event_reader {
public:
  /// Text comes as strings when the request had neither tools, thinking nor documents; otherwise
  /// as blocks with an index.
  explicit event_reader(bool text_only) noexcept : text_only_{text_only} {}

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
  std::string block_type_; ///< of the block that is being streamed
  json::object usage_;     ///< counts so far: the first event has those that the last may leave out
  boxed<token_usage> told_; ///< usage of earlier pieces, which is not to be added again
};

} // namespace superstep::anthropic

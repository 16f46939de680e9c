// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/providers/provider_format.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// OpenAI's API for chat completions, which many other servers also offer:
/// https://platform.openai.com/docs/api-reference/chat
namespace superstep::openai_chat {

/// Builds the body for `POST /v1/chat/completions`. The parameter `max_tokens` is sent as
/// max_completion_tokens. Invalid tool calls are sent with the text that the model wrote. Reasoning
/// and tool blocks of other providers are omitted.
///
/// @return model_errc::bad_request for a block that the API does not support (see
/// to_openai_data_block()), for text that is not UTF-8, and for an invalid `tool_choice`
[[nodiscard]] result<provider_request> make_request(provider_question);

/// Whether a choice was ended by an error of the server, as OpenRouter reports one.
[[nodiscard]] bool has_failed(const json::object& choice);

/// Reads a complete answer: the message of its first choice. The message does not use the memory of
/// `answer`. A tool call whose arguments are not a JSON object is invalid. Returns
/// model_errc::bad_answer if the answer reports an error or has no choices.
[[nodiscard]] result<message> read_response(const json::object& answer);

/// Copies to `kwargs` the members of an answer or streamed piece that LangChain drops: the refusal,
/// and the reasoning of DeepSeek, vLLM, OpenRouter and others. Reasoning is read from
/// `reasoning_content` or `reasoning` and stored as `reasoning_content`.
void keep_extras(object_box& kwargs, const json::object& answer);

/// Converts one event of a stream without regard to earlier events.
[[nodiscard]] chunk_result read_event(const json::object& event);

/// Converts the events of one stream to message chunks. Events must be read in order. If a server
/// repeats the name of a call or the finish reason in every event, it is reported once. Refusals
/// and reasoning are stored in additional_kwargs. If a request asks for several choices, only the
/// first one of the stream is read.
class event_reader {
public:
  /// Reads one event. Returns nullopt for an event without content.
  [[nodiscard]] chunk_result read(const json::object& event);

private:
  struct named_call {
    json::value index;
    std::string id;
    std::string name;
  };
  void drop_repeated_name(tool_call_chunk& piece);
  [[nodiscard]] bool is_of_other_choice(const json::object& event);
  void number_blocks(json::array& blocks);

  std::vector<named_call> calls_;
  std::optional<std::int64_t> choice_; ///< index of the choice that is read; unset before the first
  std::int64_t highest_index_ = -1;    ///< highest integer index of the calls so far; -1 = none
  std::string function_name_;          ///< name of the call in the older form `function_call`
  std::string last_type_;              ///< type of the last block; empty if a piece cannot join it
  std::int64_t last_block_ = -1;       ///< index of the last numbered block; -1 = none
  bool has_ended_ = false;             ///< a finish reason was read
  optional_box<token_usage> reported_; ///< usage that earlier events have reported
};

/// Converts token counts. Details for the service tiers flex and priority get the tier as a prefix
/// of their names, because tokens of these tiers have other prices.
[[nodiscard]] token_usage read_usage(const json::object& usage, std::string_view tier_name);

} // namespace superstep::openai_chat

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/models/providers/provider_format.hpp>

#include <string>
#include <vector>

/// OpenAI's chat completions, and those of the many servers that copy them.
namespace superstep::openai_chat {

/// `POST /v1/chat/completions`. `max_tokens` becomes max_completion_tokens. Calls that could
/// not be read are sent with the text the model wrote. Reasoning and tool blocks of other providers
/// are left out of content; a block the API cannot take is an error (see to_openai_data_block()),
/// and so is what JSON cannot hold: text that is no UTF-8.
[[nodiscard]] result<provider_request> make_request(provider_question);

/// The message of the first choice, with nothing in it that stands in the answer's memory.
/// Arguments that are not one whole JSON object make invalid calls. An error body and an answer
/// without choices are errors.
[[nodiscard]] result<message> read_response(const json::object& answer);

/// Keeps in additional_kwargs what the message of an answer, or a piece of one, holds beyond what
/// LangChain keeps: the refusal, and as `reasoning_content` the reasoning of DeepSeek, vLLM,
/// OpenRouter and others, who send it as `reasoning_content` or `reasoning`.
void keep_extras(json::object& kwargs, const json::object& said);

/// Reads one event of a stream as it is.
[[nodiscard]] chunk_result read_event(const json::object& event);

/// Reads the events of one stream in their order. What servers repeat with every piece (the name of
/// a call, the finish reason) is reported once. The refusal and the reasoning of servers that send
/// one are kept in additional_kwargs.
class event_reader {
public:
  [[nodiscard]] chunk_result read(const json::object& event);

private:
  struct named_call {
    json::value index;
    std::string id;
    std::string name;
  };
  void drop_repeated_name(tool_call_chunk& piece);

  std::vector<named_call> calls_;
  std::string function_name_; ///< of the older form, function_call
  bool has_ended_ = false;    ///< a finish reason was read
};

/// Counts as superstep names them. Those of the service tiers flex and priority are named after
/// their tier, because they have prices of their own.
[[nodiscard]] token_usage read_usage(const json::object& usage, std::string_view service_tier);

} // namespace superstep::openai_chat

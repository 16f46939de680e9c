// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/models/providers/provider_format.hpp>

/// OpenAI's chat completions, and those of the many servers that copy them.
namespace superstep::openai_chat {

/// `POST /v1/chat/completions`. `max_tokens` goes out as max_completion_tokens. Calls that could
/// not be read are sent with the text the model wrote. Reasoning and tool blocks of other providers
/// are left out of content; a block the API cannot take is an error (see to_openai_data_block()),
/// and so is what JSON cannot hold: text that is no UTF-8.
[[nodiscard]] result<provider_request> make_request(provider_question);

/// The message of the first choice, with nothing in it that stands in the answer's memory.
/// Arguments of calls that are no JSON make invalid calls; JSON that is no object is an error, as
/// are an error body and an answer without choices.
[[nodiscard]] result<message> read_response(const json::object& answer);

/// One event of a stream.
[[nodiscard]] chunk_result read_event(const json::object& event);

/// Counts as superstep names them. Those of the service tiers flex and priority are named after
/// their tier, because they have prices of their own.
[[nodiscard]] token_usage read_usage(const json::object& usage, std::string_view service_tier);

} // namespace superstep::openai_chat

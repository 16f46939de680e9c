// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/models/providers/provider_format.hpp>

#include <string_view>

/// OpenAI's Responses.
namespace superstep::openai_responses {

/// `POST /v1/responses`. Messages, calls and results become items of `input`; the reasoning of
/// earlier answers goes back as it came. `max_tokens` goes out as max_output_tokens.
[[nodiscard]] result<provider_request> make_request(const provider_question&);

/// The items of an answer as blocks of one message. An error when the answer says it failed.
[[nodiscard]] result<message> read_response(const json::object& answer);

[[nodiscard]] token_usage read_usage(const json::object& usage, std::string_view service_tier);

} // namespace superstep::openai_responses

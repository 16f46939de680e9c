// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/providers/provider_format.hpp"

#include <superstep/messages/message_json.hpp>
#include <superstep/messages/messages.hpp>

namespace superstep::providers {

/// Converts the content of a message for one of OpenAI's APIs: to a string, or to a list with data
/// blocks in OpenAI's form and without the blocks of other providers. Returns
/// model_errc::bad_request for a block that the API does not support.
[[nodiscard]] result<json::value> openai_content(const message& m, openai_api api);

/// Returns the tool calls of an answer, valid and invalid, in the form of chat completions.
[[nodiscard]] json::array openai_calls(const message& m);

/// Converts a tool of any provider's form to that of chat completions.
[[nodiscard]] json::value openai_tool(json::value tool);

/// Converts `tool_choice`: a tool's name, "any", true, or OpenAI's own values. nullopt: not set.
[[nodiscard]] result<std::optional<json::value>> openai_tool_choice(const provider_question& q);

} // namespace superstep::providers

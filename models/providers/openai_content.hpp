// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/providers/provider_format.hpp"

#include <superstep/messages/message_json.hpp>
#include <superstep/messages/messages.hpp>

namespace superstep::providers {

/// Converts the content of a message for one of OpenAI's APIs. Returns a string or a list of
/// blocks. The list has data blocks in OpenAI's form, and no blocks that only other providers know.
/// Returns model_errc::bad_request for a block that the API does not support.
[[nodiscard]] result<json::value> openai_content(const message& m, openai_api api);

/// Returns the valid and invalid tool calls of an answer in the form of chat completions.
[[nodiscard]] json::array openai_calls(const message& m);

/// Converts a tool from the form of any provider to that of chat completions.
[[nodiscard]] json::value openai_tool(json::value tool);

/// Converts `tool_choice`: a tool's name, "any", true, or a value of OpenAI's API. Returns nullopt
/// if it is not set.
[[nodiscard]] result<std::optional<json::value>> openai_tool_choice(const provider_question& q);

} // namespace superstep::providers

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/messages/message.hpp>
#include <superstep/messages/openai_form.hpp>
#include <superstep/models/providers/provider_format.hpp>

namespace superstep::providers {

/// The content of a message as OpenAI's APIs take it: a string, or a list without the blocks of
/// other providers and with standard data blocks in OpenAI's form.
[[nodiscard]] result<json::value> openai_content(const message& m, openai_api api);

/// The calls of an answer, valid and not, in the form of chat completions.
[[nodiscard]] json::array openai_calls(const message& m);

/// A tool in the form of chat completions, whichever it was given in.
[[nodiscard]] json::value openai_tool(json::value tool);

/// What `tool_choice` means: a tool's name, any, true, or OpenAI's own words. nullopt: nothing.
[[nodiscard]] result<std::optional<json::value>> openai_tool_choice(const provider_question& q);

} // namespace superstep::providers

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>
#include <superstep/base/result.hpp>
#include <superstep/messages/message_chunk.hpp>
#include <superstep/messages/message_list.hpp>
#include <superstep/messages/tool_definition.hpp>

#include <optional>
#include <string>

namespace superstep {

/// What a provider is to be asked, in nobody's form yet. The functions that put it into a
/// provider's form, and read its answers, are pure: no network, no clock, no random number.
struct provider_question {
  std::string model;
  message_list messages;
  /// In the form of chat completions ({type: "function", function: {name, description,
  /// parameters}}) or the provider's own, which then goes out as it is.
  json::array tools;
  /// How the tools are bound: `tool_choice` (a tool's name, "any", "auto", true, or the provider's
  /// form), `parallel_tool_calls`; other members go into the request as they are.
  json::object binding;
  /// temperature, max_tokens, stop, …; `model_kwargs` holds more of the provider's own.
  json::object parameters;
  /// The tools of an agent, shared with it; they go out after `tools`. Null: none.
  tool_definitions definitions = {};
};

struct provider_request {
  std::string path;
  json::object body;
};

/// What an event of a stream adds; none for those that only keep time.
using chunk_result = result<std::optional<message_chunk>>;

} // namespace superstep

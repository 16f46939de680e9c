// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>
#include <superstep/base/json.hpp>
#include <superstep/messages/messages.hpp>

#include <optional>
#include <string>

namespace superstep {

/// A request in a form that does not depend on the provider. The functions in models/providers that
/// convert requests and read answers are pure: they use no network, clock or random numbers.
struct provider_question {
  std::string model;
  message_list messages;
  /// Tools as JSON: in the form of chat completions ({type: "function", function: {name,
  /// description, parameters}}), or in the provider's own form, which is sent unchanged.
  json::array tools;
  /// Options of tools: `tool_choice` (a tool's name, "any", "auto", true, or the provider's form)
  /// and `parallel_tool_calls`. Other members are sent unchanged, except `strict`, which is already
  /// part of each tool.
  json::object binding;
  /// Parameters such as temperature, max_tokens and stop. Except for Ollama, the members of
  /// `model_kwargs` become members of the request.
  json::object parameters;
  /// The tools of an agent, which owns them too. They are sent after `tools`; null if there are
  /// none.
  tool_definitions definitions = {};
};

/// A request in the provider's form: the path after the base URL and the JSON body.
struct provider_request {
  std::string path;
  json::object body;
};

/// The result of reading one event of a stream: a chunk, nullopt if the event has no content, or an
/// error.
using chunk_result = result<std::optional<message_chunk>>;

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/providers/provider_format.hpp"

#include <superstep/base/error.hpp>
#include <superstep/base/json.hpp>

#include <string>
#include <string_view>

namespace superstep::providers {

/// A request body before it is sent. Messages and tools are the largest part, so they may be
/// written directly as text, without JSON values in between.
struct request_parts {
  json::object body;    ///< all members in order; null marks where a text below is inserted
  std::string messages; ///< a JSON list; "" if `body` contains the messages
  std::string tools;    ///< a JSON list; "" if `body` contains the tools
};

/// Returns the complete body as JSON text.
[[nodiscard]] std::string body_text(const request_parts&);

} // namespace superstep::providers

namespace superstep::openai_chat {

/// Differences between servers that offer chat completions. The defaults are those of OpenAI.
struct dialect {
  /// Name of the request member for the parameter max_tokens.
  std::string_view max_tokens = "max_completion_tokens";
  /// Whether empty content next to tool calls is null. Otherwise it is "", which more servers
  /// accept.
  bool has_null_content = true;
  /// Name of the request member for the reasoning of earlier answers. If empty, it is not sent.
  std::string_view reasoning;
};

/// Builds the same request as make_request(), but with messages and tools as text.
[[nodiscard]] result<providers::request_parts> make_parts(const provider_question&,
                                                          const dialect& = {});

} // namespace superstep::openai_chat

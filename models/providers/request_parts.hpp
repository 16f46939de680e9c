// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/providers/provider_format.hpp"

#include <superstep/base/error.hpp>
#include <superstep/base/json.hpp>

#include <string>
#include <string_view>

namespace superstep::providers {

/// A request body before it is sent. Messages and tools make up nearly all of it, so they may be
/// written as text directly, without building a JSON tree first.
struct request_parts {
  json::object body;    ///< members in order; null marks the place of a text below
  std::string messages; ///< a JSON list; "" if `body` contains the messages
  std::string tools;    ///< a JSON list; "" if `body` contains the tools
};

/// Returns the JSON text of the whole body.
[[nodiscard]] std::string body_text(const request_parts&);

} // namespace superstep::providers

namespace superstep::openai_chat {

/// Differences between servers of chat completions. The defaults are those of OpenAI.
struct dialect {
  /// Request member for the parameter max_tokens.
  std::string_view max_tokens = "max_completion_tokens";
  /// Whether content is null beside tool calls; otherwise "", which more servers accept.
  bool has_null_content = true;
  /// Request member for the reasoning of earlier answers; empty: it is not sent.
  std::string_view reasoning;
};

/// Builds the same request as make_request(), but with messages and tools as text.
[[nodiscard]] result<providers::request_parts> make_parts(const provider_question&,
                                                          const dialect& = {});

} // namespace superstep::openai_chat

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>
#include <superstep/base/result.hpp>
#include <superstep/models/providers/provider_format.hpp>

#include <string>
#include <string_view>

namespace superstep::providers {

/// The body of a request before it is sent. Messages and tools are nearly all of it, and may be
/// text from the start: a document of them would be made only to be written and thrown away.
struct request_parts {
  json::object body;    ///< the members in their order; null holds the place of a text below
  std::string messages; ///< a JSON list, or "": the document holds them
  std::string tools;    ///< the same
};

[[nodiscard]] std::string body_text(const request_parts&);

} // namespace superstep::providers

namespace superstep::openai_chat {

/// Points on which servers of chat completions differ. The defaults are OpenAI's own.
struct dialect {
  /// Name of the limit of an answer, where it is given as max_tokens.
  std::string_view max_tokens = "max_completion_tokens";
  /// Whether content is null beside calls; else it is "", which more servers take.
  bool has_null_content = true;
  /// Member in which reasoning of earlier answers goes back; empty: it does not.
  std::string_view reasoning;
};

/// Returns the request that make_request() gives as a document.
[[nodiscard]] result<providers::request_parts> make_parts(const provider_question&,
                                                          const dialect& = {});

} // namespace superstep::openai_chat

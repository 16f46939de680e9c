// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>
#include <superstep/models/chat_model.hpp>
#include <superstep/models/provider_model.hpp>

#include <string>
#include <string_view>

namespace superstep::models {

/// The body of a request, and what the reader of its answer must know.
struct wire_request {
  std::string body;
  bool is_streamed = false;
  bool text_only = false;      ///< Anthropic: the answer can only contain text
  bool with_reasoning = false; ///< Ollama: thinking was requested
};

/// Builds the request. Equal arguments give equal bytes. Returns model_errc::bad_request for
/// content that the provider does not support, and for parameters that users cannot set.
[[nodiscard]] result<wire_request> write_request(const provider_model_options& options,
                                                 const model_request& request);

/// Whether users cannot set a parameter: the request sets it, or the answer would have several
/// choices (`n`), of which only the first is read.
[[nodiscard]] bool is_reserved_parameter(std::string_view name) noexcept;

/// Whether the server accepts a response format beside tools and then still calls the tools: the
/// servers of OpenAI, Azure and Anthropic.
[[nodiscard]] bool takes_format_beside_tools(const provider_model_options& options);

} // namespace superstep::models

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>
#include <superstep/models/chat_model.hpp>
#include <superstep/models/provider_model.hpp>

#include <string>

namespace superstep::models {

/// A question as it goes out, and what must be known of it to read the answer.
struct wire_request {
  std::string body;
  bool is_streamed = false;
  bool text_only = false;      ///< Anthropic: nothing but text was asked for
  bool with_reasoning = false; ///< Ollama: thinking was asked for
};

/// The same request gives the same bytes. Refuses what the provider cannot take.
[[nodiscard]] result<wire_request> write_request(const provider_model_options& options,
                                                 const model_request& request);

} // namespace superstep::models

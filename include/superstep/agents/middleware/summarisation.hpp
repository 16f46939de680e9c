// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/middleware.hpp>
#include <superstep/messages/token_counter.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace superstep {

/// Selects the conversations that are summarised, and the messages that are kept.
struct summarisation_options {
  chat_model_ptr model; ///< writes the summary; required
  /// Conversations with more tokens or messages are summarised; at least one limit is required.
  std::optional<std::int64_t> tokens_max{};
  std::optional<std::size_t> messages_max{};
  /// Number of newest messages to keep; more are kept if a call would be separated from its answer.
  std::size_t messages_to_keep = 20;
  token_counter count = approximate_tokens{};
  std::string prompt{};                   ///< instructions for the summary; empty: a default text
  std::int64_t summary_tokens_max = 4000; ///< the newest tokens that the summary is made from
};

/// Makes a middleware that replaces older messages by a summary before a call of the model. If the
/// summarising model fails, the conversation stays unchanged until the next call.
/// @throws std::invalid_argument for options without a model or without a limit
/// Source: `SummarizationMiddleware` in langchain 1.4.7, agents/middleware/summarization.py.
[[nodiscard]] message_middleware summarisation(summarisation_options options);

} // namespace superstep

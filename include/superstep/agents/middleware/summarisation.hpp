// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/middleware.hpp>
#include <superstep/messages/token_counter.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace superstep {

/// When a conversation is too long, and what is kept of it.
struct summarisation_options {
  chat_model_ptr model; ///< writes the summary
  /// A conversation of so many tokens or messages is summarised; at least one must be set.
  std::optional<std::int64_t> tokens_max{};
  std::optional<std::size_t> messages_max{};
  /// The newest messages stay as they are; more of them when a call would lose its answers.
  std::size_t messages_to_keep = 20;
  token_counter count = approximate_tokens{};
  std::string prompt{};                   ///< read before the conversation; empty: ours
  std::int64_t summary_tokens_max = 4000; ///< the newest part that the summary is made of
};

/// Before a call of the model: older messages become one, a summary that a model writes. When that
/// model fails, the conversation stays as it is until the next call.
/// Throws std::invalid_argument for options without a model or without a limit.
[[nodiscard]] message_middleware summarisation(summarisation_options options);

} // namespace superstep

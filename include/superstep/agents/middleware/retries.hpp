// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/middleware.hpp>
#include <superstep/runtime/retry_policy.hpp>

#include <exception>
#include <functional>
#include <string>
#include <vector>

namespace superstep {

/// When a call that failed is made again, and what becomes of one that has failed for good.
struct retry_options {
  /// Empty retry_on: what is_worth_a_retry(), and of errors of a model is_worth_another_try().
  retry_policy policy{.max_attempts = 3,
                      .initial_interval = std::chrono::milliseconds{1'000},
                      .backoff_factor = 2.0,
                      .max_interval = std::chrono::milliseconds{60'000},
                      .jitter = true,
                      .retry_on = {}};
  /// The failure is thrown; else it becomes the answer of the model or of the tool.
  bool then_throw = false;
  /// The words of that answer; empty: how often it was tried, and the error.
  std::function<std::string(const std::exception&)> words{};
};

/// Asks the model again when it fails. An answer that broke off after somebody was told a piece of
/// it is not asked for again.
[[nodiscard]] message_middleware model_retry(retry_options options = {});

/// Makes calls of tools again that threw; arguments that do not fit are answered at once. Tools of
/// a tool_node of one's own must be allowed to throw by its `errors`.
/// @param tools by name; empty: all
[[nodiscard]] message_middleware tool_retry(retry_options options = {},
                                            std::vector<std::string> tools = {});

/// Asks these models, in their order, when the agent's fails; the last error counts.
[[nodiscard]] message_middleware model_fallback(std::vector<chat_model_ptr> others);

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/middleware.hpp>
#include <superstep/runtime/retry_policy.hpp>

#include <exception>
#include <functional>
#include <string>
#include <vector>

namespace superstep {

/// Selects the failed calls that are repeated, and what happens when a call finally fails.
struct retry_options {
  /// An empty retry_on means is_worth_a_retry(), and for errors of a model is_worth_another_try().
  retry_policy policy{.max_attempts = 3,
                      .initial_interval = std::chrono::milliseconds{1'000},
                      .backoff_factor = 2.0,
                      .max_interval = std::chrono::milliseconds{60'000},
                      .jitter = true,
                      .retry_on = {}};
  /// Whether the final failure is thrown. If not, it becomes the answer of the model or the tool.
  bool then_throw = false;
  /// Returns the text of that answer; empty: the number of attempts and the error.
  std::function<std::string(const std::exception&)> words{};
};

/// Makes a middleware that repeats failed calls of the model. An answer that broke off after a
/// piece of it was streamed is not repeated.
/// Source: `ModelRetryMiddleware` in langchain 1.4.7, agents/middleware/model_retry.py.
[[nodiscard]] message_middleware model_retry(retry_options options = {});

/// Makes a middleware that repeats tool calls that threw. Calls with invalid arguments are answered
/// at once. The `errors` of a tool_node passed to the agent must let exceptions through.
/// @param tools names of tools; empty: all
/// Source: `ToolRetryMiddleware` in langchain 1.4.7, agents/middleware/tool_retry.py.
[[nodiscard]] message_middleware tool_retry(retry_options options = {},
                                            std::vector<std::string> tools = {});

/// Makes a middleware that tries other models, in order, if the agent's fails. If all fail, the run
/// gets the last error.
/// Source: `ModelFallbackMiddleware` in langchain 1.4.7, agents/middleware/model_fallback.py.
[[nodiscard]] message_middleware model_fallback(std::vector<chat_model_ptr> others);

} // namespace superstep

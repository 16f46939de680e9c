// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/models/chat_model.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

namespace superstep {

/// Whether another attempt may succeed after the error `e`. False for a rejected request, an
/// invalid API key, an exhausted quota, an unknown model or recording, and an unusable
/// configuration; true for all other codes. May be called from any thread.
[[nodiscard]] bool is_worth_another_try(const error& e);

/// Options of with_retry().
struct model_retry_options {
  std::uint32_t attempts_max = 3; ///< attempts per call, the first included
  /// Upper bound of the first wait. It doubles with each attempt.
  std::chrono::milliseconds backoff_base{1'000};
  std::chrono::milliseconds backoff_max{60'000}; ///< limit of the upper bound
  /// Whether to retry after this error.
  std::function<bool(const error&)> retry_on = is_worth_another_try;
};

/// Returns a model that repeats failed calls after a random wait (exponential backoff with full
/// jitter). For models that do not retry by themselves; provider models do. A call is not repeated
/// after a piece of its answer was streamed. Waiting suspends the call and blocks no thread. May be
/// called from any thread.
///
/// @param model shared by the returned model; must not be null
/// @param options `attempts_max` must be at least 1; `retry_on` must be set and may be called by
/// any number of threads at once
/// @return the model; a call fails with the error of its last attempt
///
/// Source: `Runnable.with_retry` in langchain-core 1.7.2, runnables/retry.py.
[[nodiscard]] chat_model_ptr with_retry(chat_model_ptr model, model_retry_options options = {});

/// Returns a model that sends each request to `model` and then to `others`, in order, until one of
/// them succeeds. After a piece of an answer was streamed, no other model is tried. May be called
/// from any thread.
///
/// @param model shared by the returned model; must not be null
/// @param others shared by the returned model; none may be null
/// @param fall_back_on whether to try the next model after this error; may be called by any number
/// of threads at once
/// @return the model; a call fails with the error of the last model that was tried
///
/// Source: `Runnable.with_fallbacks` in langchain-core 1.7.2, runnables/fallbacks.py.
[[nodiscard]] chat_model_ptr with_fallbacks(
    chat_model_ptr model, std::vector<chat_model_ptr> others,
    std::function<bool(const error&)> fall_back_on = [](const error&) { return true; });

} // namespace superstep

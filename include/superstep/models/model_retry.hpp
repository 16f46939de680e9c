// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/models/chat_model.hpp>

#include <cstdint>
#include <functional>
#include <vector>

namespace superstep {

/// Whether another attempt, or another model, may do better: not with a request, key, quota or
/// configuration that is refused.
[[nodiscard]] bool is_worth_another_try(const error& e);

struct model_retry_options {
  std::uint32_t attempts_max = 3;
  std::uint32_t backoff_base_ms = 1'000; ///< first upper bound of the wait; doubled each time
  std::uint32_t backoff_max_ms = 60'000;
  std::function<bool(const error&)> retry_on = is_worth_another_try;
};

/// The model, asked again when it fails: for models that do not do so by themselves (those behind
/// HTTP do). An answer of which somebody was told a piece is not asked for again.
[[nodiscard]] chat_model_ptr with_retry(chat_model_ptr model, model_retry_options options = {});

/// The model, and when it fails those that stand in for it, in their order; the last error counts.
/// An answer of which somebody was told a piece is final.
[[nodiscard]] chat_model_ptr with_fallbacks(
    chat_model_ptr model, std::vector<chat_model_ptr> others,
    std::function<bool(const error&)> fall_back_on = [](const error&) { return true; });

} // namespace superstep

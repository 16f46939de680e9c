// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "agents/answer_cache.hpp"

#include <superstep/models/chat_model.hpp>

#include <memory>

namespace superstep::detail {

/// The names of the counters that usage::input_details has for an answer from the cache: the number
/// of such answers, and the tokens that the model used for them originally. Sums over a run count
/// all cached answers of the run.
inline constexpr auto cached_answers_key = "cached_answers";
inline constexpr auto cached_tokens_key = "cached_answer_tokens";

/// Options of cache_answers().
struct cached_model_options {
  json::object parameters{}; ///< of the model, for its temperature
  bool is_deterministic =
      false;                 ///< the model has no temperature and answers equal requests equally
  bool with_sampled = false; ///< whether answers are cached although they are sampled
};

/// Returns a model that answers a request from the cache if an equal request was answered before.
/// Two requests are equal if the model, its parameters, the number of the sample, and all that the
/// model reads are equal. Equal requests in flight are sent once.
///
/// Errors, empty answers, answers that were cut and answers that do not match the requested schema
/// are not stored. Answers of a sampling model, whose temperature is not 0, are neither stored nor
/// looked up unless the options demand it. The usage of a cached answer is zero, except the
/// counters above.
[[nodiscard]] chat_model_ptr cache_answers(chat_model_ptr model,
                                           std::shared_ptr<answer_cache> cache,
                                           cached_model_options options);

/// Whether the answers to requests with these parameters are sampled: without a temperature, or
/// with one above 0.
[[nodiscard]] bool is_sampled(const json::object& parameters);

} // namespace superstep::detail

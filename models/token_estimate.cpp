// SPDX-License-Identifier: Apache-2.0
// Moving averages of token counts, which predict the tokens of the next request.
#include "models/token_estimate.hpp"

#include <algorithm>
#include <cmath>

namespace superstep::models {

namespace {

constexpr auto answers_max = 50.0;     ///< number of answers in the moving averages
constexpr auto first_output = 1'000.0; ///< before the first answer, if max_tokens is not set

} // namespace

std::int64_t token_estimate::of(std::size_t bytes, std::optional<std::int64_t> output_max) const {
  const auto lock = std::scoped_lock{mutex_};
  const auto most = output_max ? static_cast<double>(*output_max) : HUGE_VAL;
  const auto expected = answers_ > 0 ? output_ + 2 * deviation_ : output_max ? most : first_output;
  const auto input = static_cast<double>(bytes) * tokens_per_byte_;
  return static_cast<std::int64_t>(std::ceil(input + std::min(expected, most)));
}

void token_estimate::add(std::size_t bytes, const token_usage& usage) {
  if (usage.input_tokens <= 0 && usage.output_tokens <= 0)
    return;
  const auto lock = std::scoped_lock{mutex_};
  const auto share = 1 / std::min(static_cast<double>(++answers_), answers_max);
  const auto output = static_cast<double>(usage.output_tokens);
  if (bytes > 0 && usage.input_tokens > 0)
    tokens_per_byte_ +=
        share *
        (static_cast<double>(usage.input_tokens) / static_cast<double>(bytes) - tokens_per_byte_);
  output_ += share * (output - output_);
  deviation_ += share * (std::abs(output - output_) - deviation_);
}

} // namespace superstep::models

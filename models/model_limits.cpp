// SPDX-License-Identifier: Apache-2.0
#include <superstep/models/model_limits.hpp>

#include <algorithm>

namespace superstep {

model_limits::model_limits(model_limits_options options)
    : options_{options}, calls_{options.model_calls},
      rate_{rate_limits{options.requests_per_minute, options.tokens_per_minute}} {}

void model_limits::answered() {
  if (!options_.is_adaptive)
    return;
  const auto lock = std::scoped_lock{mutex_};
  const auto limit = calls_.limit();
  if (lowered_ == time_point{} || limit == options_.model_calls)
    return;
  if (++good_since_change_ < limit)
    return;
  good_since_change_ = 0;
  calls_.set_limit(limit + 1);
}

void model_limits::overloaded(time_point sent, time_point now) {
  if (!options_.is_adaptive)
    return;
  const auto lock = std::scoped_lock{mutex_};
  // The calls that were under way at the last cut say nothing about the new number.
  if (lowered_ != time_point{} && sent <= lowered_)
    return;
  lowered_ = now;
  good_since_change_ = 0;
  const auto limit = calls_.limit();
  const auto current = limit == 0 ? calls_.in_flight() : limit;
  calls_.set_limit(std::max({current / 2, options_.model_calls_min, std::size_t{1}}));
}

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
// The limits that several models can share: calls in flight, rates, and the memory for answers.
#include "models/http/concurrency_control.hpp"

#include <superstep/models/provider_model.hpp>

#include <stdexcept>

namespace superstep {

namespace {

const model_limits_options& checked(const model_limits_options& options) {
  const auto is_set_to_none = [](const auto& limit) { return limit && *limit <= 0; };
  if (is_set_to_none(options.requests_per_minute) || is_set_to_none(options.tokens_per_minute) ||
      options.model_calls == 0U || options.answer_bytes == 0U)
    throw std::invalid_argument{
        "model_limits_options: each limit must be greater than 0; leave a member unset for no "
        "limit"};
  return options;
}

} // namespace

model_limits::model_limits(model_limits_options options)
    : options_{checked(options)}, calls_{options.model_calls.value_or(0)},
      rate_{rate_limits{options.requests_per_minute.value_or(0),
                        options.tokens_per_minute.value_or(0)}},
      answers_{options.answer_bytes.value_or(0)},
      control_{std::make_unique<models::concurrency_control>(
          models::concurrency_options{options.model_calls.value_or(0), options.model_calls_min})} {}

model_limits::~model_limits() = default;

void model_limits::answered(time_point now) {
  if (!was_refused_.load(std::memory_order_relaxed))
    return;
  const auto in_flight = calls_.in_flight();
  const auto lock = std::scoped_lock{mutex_};
  control_->answered(now, in_flight);
  if (options_.is_adaptive && control_->limit() != calls_.limit())
    calls_.set_limit(control_->limit());
}

void model_limits::overloaded(time_point sent, time_point now, std::optional<time_point> until) {
  was_refused_.store(true, std::memory_order_relaxed);
  const auto in_flight = calls_.in_flight();
  const auto lock = std::scoped_lock{mutex_};
  control_->refused(sent, now, in_flight);
  if (until && *until > now && control_->is_shut_out()) {
    control_->paused(*until);
    rate_.pause_until(*until);
  }
  if (options_.is_adaptive && control_->limit() != calls_.limit())
    calls_.set_limit(control_->limit());
}

void model_limits::pause_until(time_point until) {
  {
    const auto lock = std::scoped_lock{mutex_};
    control_->paused(until);
  }
  rate_.pause_until(until);
}

} // namespace superstep

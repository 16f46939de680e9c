// SPDX-License-Identifier: Apache-2.0
// The limits that several models can share: calls in flight, rates, and the memory for answers.
#include "models/http/concurrency_control.hpp"

#include <superstep/base/await.hpp>
#include <superstep/models/detail/call_activity.hpp>
#include <superstep/models/provider_model.hpp>

#include <stdexcept>
#include <string>
#include <utility>

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

rate_limits rates_of(const model_limits_options& options) {
  auto out = rate_limits{};
  out.requests_per_minute = options.requests_per_minute.value_or(0);
  out.tokens_per_minute = options.tokens_per_minute.value_or(0);
  out.window = options.window;
  out.burst = options.window / 60;
  return out;
}

/// Admits a request without waiting. Without limits per minute, a free place is taken at once, and
/// the run need not be known.
std::optional<model_limits::admission> admit_at_once(const limiter& calls, const rate_limiter& rate,
                                                     std::int64_t tokens,
                                                     model_limits::time_point now) {
  if (rate.has_limit())
    return std::nullopt;
  auto free = calls.try_acquire();
  if (!free || rate.try_reserve(tokens, now) > now)
    return std::nullopt;
  return model_limits::admission{std::move(*free), now, tokens};
}

} // namespace

model_limits::model_limits(model_limits_options options)
    : model_limits{options, rate_limiter{rates_of(options)}} {}

model_limits::model_limits(model_limits_options options, rate_limiter shared)
    : options_{checked(options)}, calls_{options.model_calls.value_or(0)}, rate_{std::move(shared)},
      answers_{options.answer_bytes.value_or(0)},
      control_{std::make_unique<models::concurrency_control>(
          models::concurrency_options{options.model_calls.value_or(0), options.model_calls_min})} {}

model_limits::~model_limits() = default;

task<model_limits::admission> model_limits::admit(std::string_view run, std::int64_t tokens) const {
  return admit(run, [tokens] { return tokens; });
}

task<model_limits::admission> model_limits::admit(std::string_view run,
                                                  rate_limiter::estimator tokens) const {
  // A free function, so that the coroutine owns all that it uses.
  return [](limiter calls, fair_line line, rate_limiter rate, std::string key,
            rate_limiter::estimator estimate,
            std::shared_ptr<call_activity> activity) -> task<admission> {
    if (!rate.has_limit()) {
      auto& at = co_await this_context{};
      if (auto admitted = admit_at_once(calls, rate, estimate(), at.where->now()))
        co_return *std::move(admitted);
    }
    auto out = admission{};
    const auto counted = call_activity::waiting_call{std::move(activity)};
    auto waiting = line.enter(key);
    const auto turn = co_await waiting;
    auto acquiring = calls.acquire();
    out.permit = co_await acquiring;
    auto reserving = rate.reserve(std::move(estimate));
    const auto reserved = co_await reserving;
    out.reserved_at = reserved.at;
    out.tokens = reserved.tokens;
    co_return out;
  }(calls_, line_, rate_, std::string{run}, std::move(tokens), options_.activity);
}

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

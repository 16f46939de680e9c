// SPDX-License-Identifier: Apache-2.0
// The measurement windows of concurrency_control, and the decisions at the end of a window in the
// phases steady, lowered and raised. The header describes the algorithm.
#include "models/http/concurrency_control.hpp"

#include <algorithm>
#include <cmath>

namespace superstep::models {

namespace {

constexpr auto no_limit = 1e9;

// A window ends when it has enough answers for a decision. Without refusals a few are enough. With
// refusals, their share must be known to about a third of its value.
constexpr auto answers_min = 40.0;
constexpr auto answers_max = 1'000.0;
constexpr auto clean_answers_min = 4.0;
constexpr auto refusals_min = std::size_t{8};
constexpr auto window_seconds_min = 0.02;

// If the share of refused calls is above these limits, the server is congested, unless this share
// was found to be normal. share_tolerated is the share of the time in flight and decides in most
// cases. count_tolerated is the share of answers; it prevents quick refusals from becoming most of
// the traffic.
constexpr auto share_tolerated = 0.03;
constexpr auto count_tolerated = 0.25;

// An experiment changes the number of calls in flight and measures how many more or fewer calls are
// accepted. The ratio of this change to the change that would be proportional to the calls in
// flight is 1 if the refusals do not depend on the load, and 0 if the server is full. From this
// ratio on, the refusals are taken as independent of the load.
constexpr auto gradient_min = 0.5;

/// A server that refuses a larger share is overloaded or down, whatever an experiment shows. At the
/// start of an outage fewer calls are accepted, whether the limit changes or not.
constexpr auto normal_share_max = 0.6;

constexpr auto growth_min = 0.1;
constexpr auto growth_max = 1.0;
constexpr auto raise_after_max = std::size_t{32};
constexpr auto normal_windows_max = std::size_t{64};
constexpr auto undrained_windows_max = std::size_t{8};

double seconds_between(concurrency_control::time_point from, concurrency_control::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

} // namespace

concurrency_control::concurrency_control(concurrency_options options)
    : limit_max_{options.limit_max == 0 ? no_limit : static_cast<double>(options.limit_max)},
      limit_min_{std::min(std::max(1.0, static_cast<double>(options.limit_min)), limit_max_)},
      limit_{limit_max_}, growth_{growth_min} {}

std::size_t concurrency_control::limit() const noexcept {
  return limit_ >= no_limit ? 0 : static_cast<std::size_t>(limit_);
}

bool concurrency_control::is_shut_out() const noexcept {
  constexpr auto fewest = std::size_t{3};
  constexpr auto most = std::size_t{16};
  const auto many = static_cast<std::size_t>(std::min(limit_, 1e6) / 4);
  return refusals_in_a_row_ >= std::clamp(many, fewest, most);
}

void concurrency_control::answered(time_point now, std::size_t in_flight) {
  refusals_in_a_row_ = 0;
  if (!is_active_)
    return;
  ++clean_answers_;
  count(now, in_flight);
}

void concurrency_control::refused(time_point sent, time_point now, std::size_t in_flight) {
  ++refusals_in_a_row_;
  const auto seconds = std::max(0.0, seconds_between(sent, now));
  constexpr auto weight = 1.0 / 16;
  if (!is_active_) {
    is_active_ = true;
    refusal_seconds_ = seconds;
    restart(now + (now - sent)); // calls already sent may still be refused
  }
  refusal_seconds_ += weight * (seconds - refusal_seconds_);
  if (now < begin_)
    return;
  ++refusals_;
  clean_answers_ = 0;
  refused_seconds_ += seconds;
  count(now, in_flight);
}

void concurrency_control::paused(time_point until) {
  restart(std::max(until, begin_));
}

void concurrency_control::count(time_point now, std::size_t in_flight) {
  if (now < begin_)
    return;
  ++answers_;
  in_flight_sum_ += static_cast<double>(in_flight);
  if (const auto seconds = seconds_between(begin_, now); has_enough(seconds))
    judge(now, seconds);
}

bool concurrency_control::has_enough(double seconds) const {
  const auto answers = static_cast<double>(answers_);
  const auto in_flight = in_flight_sum_ / answers;
  // An experiment that began among refusals is not decided by the first successful answers.
  if (refusals_ == 0 && (phase_ == phase::steady || before_.refused_count == 0))
    return answers >= std::max(clean_answers_min, in_flight);
  // After many answers without a refusal, an outage is over. The window ends now, so that refusals
  // of the outage do not count in later windows.
  const auto clean = static_cast<double>(clean_answers_);
  if (phase_ == phase::steady && clean >= 2 * std::max(clean_answers_min, in_flight))
    return true;
  if (seconds < std::max(window_seconds_min, 2 * refusal_seconds_))
    return false;
  const auto enough = std::clamp(2 * in_flight, answers_min, answers_max);
  return answers >= (refusals_ < refusals_min ? 4 * enough : enough);
}

void concurrency_control::judge(time_point now, double seconds) {
  auto seen = load{};
  seen.in_flight = in_flight_sum_ / static_cast<double>(answers_);
  const auto refused = std::min(refused_seconds_ / seconds, seen.in_flight);
  seen.accepted = seen.in_flight - refused;
  seen.limit = limit_;
  seen.refused_share = refused / seen.in_flight;
  seen.refused_count = static_cast<double>(refusals_) / static_cast<double>(answers_);
  if (normal_windows_ > 0 && --normal_windows_ == 0)
    normal_share_ = normal_count_ = 0;
  switch (phase_) {
  case phase::steady:
    judge_steady(seen);
    break;
  case phase::lowered:
    judge_lowered(seen);
    break;
  case phase::raised:
    judge_raised(seen);
    break;
  }
  // After a change of the limit, refusals of calls that were sent under the old limit still arrive.
  const auto settling = limit_ == seen.limit ? 0.0 : 2 * refusal_seconds_;
  restart(now + std::chrono::nanoseconds{static_cast<std::int64_t>(settling * 1e9)});
}

void concurrency_control::judge_steady(const load& seen) {
  if (is_congested(seen)) {
    lower(seen);
    return;
  }
  // The limit is raised only if it is fully used, because a raise has no effect otherwise.
  const auto is_used = seen.in_flight >= 0.9 * limit_;
  if (is_used && limit_ < limit_max_ && ++steady_windows_ >= raise_after_)
    raise(seen);
}

void concurrency_control::judge_lowered(const load& seen) {
  if (seen.in_flight > 1.02 * limit_ + 1 && ++undrained_windows_ < undrained_windows_max)
    return; // more calls than the new limit are still in flight
  phase_ = phase::steady;
  const auto change = before_.in_flight - seen.in_flight;
  const auto planned = before_.in_flight - limit_;
  if (seen.refused_share > normal_share_max || change < 0.3 * planned ||
      !follows(before_.accepted - seen.accepted, change))
    return;
  normal_share_ = seen.refused_share;
  normal_count_ = seen.refused_count;
  normal_windows_ = normal_windows_max;
  raise_after_ = 1;
  set_limit(before_.limit);
}

void concurrency_control::judge_raised(const load& seen) {
  const auto change = seen.in_flight - before_.in_flight;
  const auto planned = limit_ - before_.limit;
  const auto has_paid =
      change >= 0.3 * planned && follows(seen.accepted - before_.accepted, change);
  if (!has_paid) {
    phase_ = phase::steady;
    growth_ = growth_min;
    raise_after_ = std::min(2 * raise_after_, raise_after_max);
    set_limit(before_.limit);
    return;
  }
  raise_after_ = 1;
  growth_ = std::min(2 * growth_, growth_max);
  if (limit_ < limit_max_)
    raise(seen);
  else
    phase_ = phase::steady;
}

/// Whether the number of accepted calls changed in proportion to the calls in flight. Both
/// arguments are differences to the load before the experiment.
bool concurrency_control::follows(double accepted, double in_flight) const {
  const auto of_all = before_.accepted / before_.in_flight;
  return in_flight > 0 && accepted >= gradient_min * of_all * in_flight;
}

bool concurrency_control::is_congested(const load& seen) const {
  if (refusals_ < refusals_min)
    return false;
  const auto beyond = [](double normal) { return normal + 0.5 * normal * (1 - normal); };
  return seen.refused_share > share_tolerated + beyond(normal_share_) ||
         seen.refused_count > count_tolerated + beyond(normal_count_);
}

void concurrency_control::lower(const load& seen) {
  // The new limit is the measured number of accepted calls minus its uncertainty. It is at least a
  // quarter of the calls in flight, because a large decrease may be an error of measurement.
  const auto refused = seen.in_flight - seen.accepted;
  const auto error = 2.5 * refused / std::sqrt(static_cast<double>(refusals_));
  const auto target = seen.accepted - std::min(error, 0.1 * seen.accepted);
  if (limit_ <= limit_min_)
    return;
  before_ = seen;
  phase_ = phase::lowered;
  undrained_windows_ = 0;
  growth_ = growth_min;
  set_limit(std::max(target, seen.in_flight / 4));
}

void concurrency_control::raise(const load& seen) {
  before_ = seen;
  phase_ = phase::raised;
  set_limit(limit_ + std::max(1.0, growth_ * limit_));
}

void concurrency_control::set_limit(double limit) {
  steady_windows_ = 0;
  limit_ = limit >= no_limit ? limit_max_ : std::clamp(std::round(limit), limit_min_, limit_max_);
}

void concurrency_control::restart(time_point now) {
  begin_ = now;
  answers_ = 0;
  refusals_ = 0;
  clean_answers_ = 0;
  refused_seconds_ = 0;
  in_flight_sum_ = 0;
}

} // namespace superstep::models

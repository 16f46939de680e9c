// SPDX-License-Identifier: Apache-2.0
// Pauses a job while the quota of the provider's account is exhausted, and probes from time to time
// whether it is available again.
#include "quota_control.hpp"

#include <algorithm>

namespace superstep::detail {
namespace {

using std::chrono::milliseconds;

constexpr auto pause_least = milliseconds{100};
constexpr auto first_pause_most = milliseconds{30'000};
constexpr auto pause_most = milliseconds{300'000};
/// A provider refuses a request at once if the quota is exhausted. A probe that runs for longer was
/// admitted.
constexpr auto probe_time = std::chrono::seconds{10};

} // namespace

quota_control::quota_control(milliseconds wait_max)
    : wait_max_{wait_max}, pause_min_{std::clamp(wait_max / 40, pause_least, first_pause_most)},
      pause_max_{std::clamp(wait_max / 10, pause_least, pause_most)}, pause_{pause_min_} {}

bool quota_control::met(time_point now) {
  const auto is_first = phase_ == phase::open;
  if (is_first) {
    since_ = now;
    pause_ = pause_min_;
  } else if (phase_ == phase::probing) {
    pause_ = std::min(pause_ * 2, pause_max_);
  } else { // a row that started before the pause
    return false;
  }
  phase_ = phase::paused;
  next_ = now + pause_;
  return is_first;
}

void quota_control::started(time_point now) {
  if (phase_ != phase::paused)
    return;
  phase_ = phase::probing;
  probed_ = now;
  ended_ = total_;
}

bool quota_control::finished(std::uint64_t total, time_point now) {
  total_ = total;
  if (phase_ != phase::probing || (total_ == ended_ && now - probed_ < probe_time))
    return false;
  phase_ = phase::open;
  return true;
}

bool quota_control::may_start(time_point now) const noexcept {
  return phase_ == phase::open || (phase_ == phase::paused && now >= next_);
}

std::chrono::nanoseconds quota_control::pause(time_point now) const noexcept {
  if (phase_ != phase::paused)
    return std::chrono::nanoseconds{0};
  return std::max(std::chrono::nanoseconds{0}, std::chrono::nanoseconds{next_ - now});
}

bool quota_control::is_hopeless(time_point now) const noexcept {
  return phase_ == phase::paused && now - since_ >= wait_max_;
}

} // namespace superstep::detail

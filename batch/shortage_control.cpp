// SPDX-License-Identifier: Apache-2.0
// Reduces the concurrency of a job when the machine lacks resources, and raises it again later.
#include "shortage_control.hpp"

#include <algorithm>

namespace superstep::detail {
namespace {
constexpr auto pause_min = std::chrono::milliseconds{50};
constexpr auto pause_max = std::chrono::milliseconds{2'000};
} // namespace

bool shortage_control::met(time_point now) {
  const auto is_first = !since_;
  if (is_first)
    since_ = now;
  if (now < pause_end_) // rows that started before the pause meet the same shortage
    return is_first;
  rows_ = std::max<std::size_t>(rows_ / 2, 1);
  raised_at_ = finished_;
  pause_ = std::clamp(pause_ * 2, pause_min, pause_max);
  pause_end_ = now + pause_;
  return is_first;
}

void shortage_control::finished(std::uint64_t total, time_point now) {
  if (total == finished_)
    return;
  finished_ = total;
  since_.reset();
  if (now >= pause_end_) // rows that end during the pause do not prove that it may be shorter
    pause_ = std::chrono::milliseconds{0};
  if (rows_ < rows_max_ && finished_ - raised_at_ >= rows_) {
    rows_ = std::min(rows_max_, rows_ + std::max<std::size_t>(rows_ / 4, 1));
    raised_at_ = finished_;
  }
}

std::chrono::nanoseconds shortage_control::pause(time_point now) const noexcept {
  return std::max(std::chrono::nanoseconds{0}, std::chrono::nanoseconds{pause_end_ - now});
}

bool shortage_control::is_hopeless(time_point now) const noexcept {
  return since_ && now - *since_ > wait_max_;
}

} // namespace superstep::detail

// SPDX-License-Identifier: Apache-2.0
// Counts model calls that wait or are repeated. An error stays visible until calls succeed again,
// also if the calls that met it are cancelled: the user stops a job because of it.
#include <superstep/base/detail/assert.hpp>
#include <superstep/models/detail/call_activity.hpp>

#include <algorithm>
#include <utility>

namespace superstep {

call_activity::snapshot call_activity::now() const {
  const auto lock = std::scoped_lock{mutex_};
  return {retries_, repeating_, waiting_.load(std::memory_order_relaxed), last_error_};
}

void call_activity::warn(const std::string& text) {
  constexpr auto warnings_max = std::size_t{16};
  const auto lock = std::scoped_lock{mutex_};
  if (warnings_.size() < warnings_max && std::ranges::find(warnings_, text) == warnings_.end())
    warnings_.push_back(text);
}

std::vector<std::string> call_activity::warnings() const {
  const auto lock = std::scoped_lock{mutex_};
  return warnings_;
}

void call_activity::end(bool has_succeeded) {
  const auto lock = std::scoped_lock{mutex_};
  SUPERSTEP_ASSERT(repeating_ > 0);
  if (--repeating_ == 0 && has_succeeded)
    last_error_.clear();
}

void call_activity::repeated_call::failed(std::string_view why) {
  if (in_ == nullptr)
    return;
  const auto lock = std::scoped_lock{in_->mutex_};
  ++in_->retries_;
  in_->last_error_ = why;
  if (!std::exchange(has_failed_, true))
    ++in_->repeating_;
}

void call_activity::repeated_call::succeeded() {
  if (std::exchange(has_failed_, false))
    in_->end(true);
}

} // namespace superstep

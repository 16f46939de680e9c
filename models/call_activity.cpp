// SPDX-License-Identifier: Apache-2.0
// Counts model calls that wait or are repeated. An error stays visible until calls succeed again,
// also if the calls that met it are cancelled: the user stops a job because of it.
#include <superstep/base/detail/assert.hpp>
#include <superstep/models/detail/call_activity.hpp>

#include <utility>

namespace superstep {

call_activity::snapshot call_activity::now() const {
  const auto lock = std::scoped_lock{mutex_};
  return {retries_, repeating_, waiting_.load(std::memory_order_relaxed), last_error_};
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

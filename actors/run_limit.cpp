// SPDX-License-Identifier: Apache-2.0
// Counts the live runs of an engine whose options limit them. Without a limit the engine has no
// such object, so that its runs share no counter.
#include "run_limit.hpp"

#include <superstep/base/detail/assert.hpp>

namespace superstep {

bool run_limit::try_enter() {
  const auto lock = std::scoped_lock{mutex_};
  if (live_ >= runs_max_)
    return false;
  ++live_;
  return true;
}

bool run_limit::enter() {
  auto lock = std::unique_lock{mutex_};
  has_room_.wait(lock, [&] { return closed_ || live_ < runs_max_; });
  if (closed_)
    return false;
  ++live_;
  return true;
}

void run_limit::enter_above_limit() {
  const auto lock = std::scoped_lock{mutex_};
  ++live_;
}

void run_limit::leave() {
  const auto lock = std::scoped_lock{mutex_};
  SUPERSTEP_ASSERT(live_ > 0);
  --live_;
  // Each run that leaves makes room for one. Above the limit it makes no room.
  if (live_ < runs_max_)
    has_room_.notify_one();
}

void run_limit::close() {
  const auto lock = std::scoped_lock{mutex_};
  closed_ = true;
  has_room_.notify_all();
}

} // namespace superstep

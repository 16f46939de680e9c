// SPDX-License-Identifier: Apache-2.0
// Counts the results of an engine that wait for a checkpointer, so that no callback is called after
// the engine was destroyed.
#include "late_results.hpp"

#include <superstep/base/detail/assert.hpp>

namespace superstep {

void late_results::add() {
  const auto lock = std::scoped_lock{mutex_};
  ++count_;
}

void late_results::remove() {
  const auto lock = std::scoped_lock{mutex_};
  SUPERSTEP_ASSERT(count_ > 0);
  if (--count_ == 0)
    emptied_.notify_all();
}

bool late_results::is_open() const {
  const auto lock = std::scoped_lock{mutex_};
  return !closed_;
}

bool late_results::is_empty() const {
  const auto lock = std::scoped_lock{mutex_};
  return count_ == 0;
}

bool late_results::await_empty(std::chrono::steady_clock::time_point until) {
  auto lock = std::unique_lock{mutex_};
  return emptied_.wait_until(lock, until, [this] { return count_ == 0; });
}

void late_results::close() {
  const auto lock = std::scoped_lock{mutex_};
  closed_ = true;
}

} // namespace superstep

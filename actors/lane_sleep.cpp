// SPDX-License-Identifier: Apache-2.0
// How the thread of a lane sleeps while the lane has nothing to do, and how other threads wake it.
// The simulator of the tests replaces this file.
#include "lane_inbox.hpp"

namespace superstep {

void lane_inbox::wake() noexcept {
  if (!asleep_.load(std::memory_order_seq_cst))
    return;
  {
    const auto lock = std::scoped_lock{mutex_};
    asleep_.store(false, std::memory_order_seq_cst);
  }
  woken_.notify_one();
}

void lane_inbox::sleep(time_point until) {
  auto lock = std::unique_lock{mutex_};
  asleep_.store(true, std::memory_order_seq_cst);
  // Another thread may have pushed an item before it could see `asleep_`, and then does not wake
  // this thread. The check below sees that item.
  if (messages_.empty() && requests_.empty() && waits_.empty() &&
      !interrupted_.load(std::memory_order_seq_cst)) {
    const auto is_up = [this] { return !asleep_.load(std::memory_order_relaxed); };
    if (until == time_point::max())
      woken_.wait(lock, is_up);
    else
      woken_.wait_until(lock, until, is_up);
  }
  asleep_.store(false, std::memory_order_seq_cst);
}

} // namespace superstep

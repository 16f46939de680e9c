// SPDX-License-Identifier: Apache-2.0
// The queue of programs that wait until the machine has resources to start them. child_process.cpp
// adds them.
#include "net/start_queue.hpp"

#include <algorithm>
#include <utility>

namespace superstep {

bool start_queue::add(attempt one) {
  if (waiting_.empty() && one())
    return true;
  if (waiting_.size() >= options_.waiting_max)
    return false;
  waiting_.push_back(std::move(one));
  if (waiting_.size() == 1)
    try_later();
  return true;
}

void start_queue::room() {
  if (waiting_.empty())
    return;
  pause_ = options_.pause_min;
  try_first();
}

/// Starts programs from the front of the queue until one cannot be started. An attempt may add to
/// the queue but does not remove from it.
void start_queue::try_first() {
  while (!waiting_.empty()) {
    if (!waiting_.front()()) {
      pause_ = std::min(2 * pause_, options_.pause_max);
      try_later();
      return;
    }
    waiting_.pop_front();
    pause_ = options_.pause_min;
  }
  timer_.cancel();
}

void start_queue::try_later() {
  timer_.expires_after(pause_);
  timer_.async_wait([this](const boost::system::error_code& cancelled) {
    if (!cancelled)
      try_first();
  });
}

} // namespace superstep

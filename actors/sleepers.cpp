// SPDX-License-Identifier: Apache-2.0
// The timers of suspended bodies, as a binary heap.
#include "sleepers.hpp"

#include <superstep/base/detail/assert.hpp>

#include <algorithm>
#include <utility>

namespace superstep {

void sleepers::add(time_point due, wait_ptr&& w) {
  SUPERSTEP_ASSERT(w != nullptr);
  if (heap_.size() >= sweep_at_)
    sweep();
  heap_.push_back({due, std::move(w)});
  std::push_heap(heap_.begin(), heap_.end());
}

wait_ptr sleepers::pop_due(time_point now) noexcept {
  if (heap_.empty() || heap_.front().due > now)
    return nullptr;
  std::pop_heap(heap_.begin(), heap_.end());
  auto first = std::move(heap_.back().what);
  heap_.pop_back();
  SUPERSTEP_ASSERT(first != nullptr && earliest() >= first->due);
  return first;
}

/// Removes the abandoned waits.
void sleepers::sweep() noexcept {
  std::erase_if(heap_, [](const sleeper& s) { return s.what->abandoned(); });
  std::make_heap(heap_.begin(), heap_.end());
  sweep_at_ = std::max(2 * heap_.size(), sweep_min);
}

} // namespace superstep

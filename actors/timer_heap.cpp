// SPDX-License-Identifier: Apache-2.0
// A binary heap of timers. Each timer knows its index, so that it can be removed.
#include "timer_heap.hpp"

#include <superstep/base/detail/assert.hpp>

#include <utility>

namespace superstep {

namespace {

constexpr std::size_t above(std::size_t place) noexcept {
  return (place - 1) / 2;
}

} // namespace

void timer_heap::put(timer& t, std::size_t place) noexcept {
  heap_[place] = &t;
  t.place = static_cast<std::uint32_t>(place);
}

void timer_heap::sift_up(std::size_t place) noexcept {
  auto& moved = *heap_[place];
  for (; place > 0 && moved.due < heap_[above(place)]->due; place = above(place))
    put(*heap_[above(place)], place);
  put(moved, place);
}

void timer_heap::sift_down(std::size_t place) noexcept {
  auto& moved = *heap_[place];
  for (;;) {
    auto child = 2 * place + 1;
    if (child >= heap_.size())
      break;
    if (child + 1 < heap_.size() && heap_[child + 1]->due < heap_[child]->due)
      ++child;
    if (heap_[child]->due >= moved.due)
      break;
    put(*heap_[child], place);
    place = child;
  }
  put(moved, place);
}

void timer_heap::set(timer& t, time_point due) {
  if (!t.is_set()) {
    heap_.push_back(&t);
    t.place = static_cast<std::uint32_t>(heap_.size() - 1);
  }
  SUPERSTEP_ASSERT(heap_[t.place] == &t);
  t.due = due;
  sift_up(t.place);
  sift_down(t.place);
  SUPERSTEP_ASSERT(heap_[t.place] == &t && earliest() <= due);
}

void timer_heap::clear(timer& t) noexcept {
  if (!t.is_set())
    return;
  SUPERSTEP_ASSERT(t.place < heap_.size() && heap_[t.place] == &t);
  const auto place = std::exchange(t.place, timer::unset);
  auto& last = *heap_.back();
  heap_.pop_back();
  if (&last == &t)
    return;
  put(last, place);
  sift_up(last.place);
  sift_down(last.place);
}

timer* timer_heap::pop_due(time_point now) noexcept {
  if (heap_.empty() || heap_.front()->due > now)
    return nullptr;
  auto& first = *heap_.front();
  SUPERSTEP_ASSERT(first.place == 0);
  clear(first);
  return &first;
}

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
// The inbox of a lane: what it receives, and how it is closed. lane_sleep.cpp has the functions
// that wait.
#include "lane_inbox.hpp"

#include <utility>

namespace superstep {

lane_inbox::~lane_inbox() {
  drop(waits_.close());
}

void lane_inbox::drop(wait* first) noexcept {
  for (auto* w = first; w != nullptr;) { // these waits ended after the lane was last served
    auto* const following = w->next;
    wait_ptr{w, false}.reset();
    w = following;
  }
}

bool lane_inbox::push(lane_message* m, kind of) noexcept {
  if (!(of == kind::request ? requests_ : messages_).push(m))
    return false;
  wake();
  return true;
}

void lane_inbox::push(wait_ptr w) noexcept {
  auto* const ended = w.detach();
  if (waits_.push(ended))
    wake();
  else
    wait_ptr{ended, false}.reset();
}

void lane_inbox::close(lane& owner) noexcept {
  messages_.close(owner);
  requests_.close(owner);
}

void lane_inbox::queue::close(lane& owner) noexcept {
  auto* const arrived = arrived_.exchange(nullptr, std::memory_order_acq_rel);
  for (auto* list : {arrived, pushed_.close()})
    for (auto* m = list; m != nullptr;) {
      auto* const following = m->next;
      m->refuse(owner);
      m = following;
    }
}

void lane_inbox::close_waits() noexcept {
  drop(waits_.close());
}

void lane_inbox::queue::handle(lane& owner, unsigned max) {
  auto* m = has_more() ? arrived_.exchange(nullptr, std::memory_order_relaxed) : pushed_.take_all();
  for (; m != nullptr && max > 0; --max) {
    auto* const following = m->next;
    m->arrive(owner);
    m = following;
  }
  if (m != nullptr)
    // release, because close() may read the messages on another thread
    arrived_.store(m, std::memory_order_release);
}

} // namespace superstep

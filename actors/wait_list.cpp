// SPDX-License-Identifier: Apache-2.0
// The ended waits of a body. They are linked by wait::next, so adding one does not allocate. The
// list is a ring: the last wait links to the first. All functions but clear() take constant time.
#include "wait_list.hpp"

#include "simulation.hpp"

#include <superstep/base/detail/assert.hpp>

#include <utility>

namespace superstep {

void wait_list::add(wait_ptr&& w) noexcept {
  auto* const added = w.detach();
  SUPERSTEP_ASSERT(added != nullptr);
  added->next = is_empty() ? added : std::exchange(last_->next, added);
  last_ = added;
}

wait_ptr wait_list::take_first() noexcept {
  SUPERSTEP_ASSERT(!is_empty());
  auto taken = wait_ptr{last_->next, false};
  if (taken == last_)
    last_ = nullptr;
  else
    last_->next = taken->next;
  taken->next = nullptr;
  return taken;
}

wait_ptr wait_list::take() noexcept {
  while (!is_empty()) {
    auto taken = take_first();
    if (SUPERSTEP_MUTANT(resume_twice) && is_empty())
      add(wait_ptr{taken});
    if (taken->resumable())
      return taken;
  }
  return {};
}

void wait_list::clear() noexcept {
  while (!is_empty())
    static_cast<void>(take_first());
}

} // namespace superstep

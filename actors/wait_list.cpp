// SPDX-License-Identifier: Apache-2.0
// The ended waits of a body. They are linked by wait::next, so adding one does not allocate.
#include "wait_list.hpp"

#include "simulation.hpp"

#include <superstep/base/detail/assert.hpp>

#include <utility>

namespace superstep {

void wait_list::add(wait_ptr&& w) noexcept {
  auto* const added = w.detach();
  SUPERSTEP_ASSERT(added != nullptr);
  added->next = nullptr;
  auto** place = &first_; // there is rarely more than one wait
  while (*place != nullptr)
    place = &(*place)->next;
  *place = added;
}

wait_ptr wait_list::take_first() noexcept {
  SUPERSTEP_ASSERT(!is_empty());
  auto taken = wait_ptr{first_, false};
  first_ = std::exchange(taken->next, nullptr);
  return taken;
}

wait_ptr wait_list::take() noexcept {
  while (!is_empty()) {
    auto taken = take_first();
    if (SUPERSTEP_MUTANT(resume_twice) && is_empty())
      first_ = wait_ptr{taken}.detach();
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

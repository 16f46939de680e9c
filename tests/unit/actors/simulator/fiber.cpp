// SPDX-License-Identifier: Apache-2.0
// Simulated threads on top of ucontext. Stacks are reused, because a schedule starts many threads.
#include "unit/actors/simulator/fiber.hpp"

#include "actors/lane.hpp"

#include <cstdint>
#include <utility>
#include <vector>

#include <cxxabi.h>
#include <sys/mman.h>

#ifdef __SANITIZE_ADDRESS__
#  include <sanitizer/asan_interface.h>
#  include <sanitizer/common_interface_defs.h>
#endif
#ifdef __SANITIZE_THREAD__
#  include <sanitizer/tsan_interface.h>
#endif

namespace superstep::simulation {

namespace {

constexpr auto stack_size = std::size_t{256} * 1'024;

/// The layout that the C++ ABI defines for the exceptions of a thread.
struct exceptions_of_thread {
  void* caught;
  unsigned uncaught;
};

std::vector<std::byte*>& free_stacks() {
  static auto all = std::vector<std::byte*>{};
  return all;
}

/// Tells AddressSanitizer that the thread leaves its stack for another one.
void leave_stack([[maybe_unused]] void** saved, [[maybe_unused]] const void* to,
                 [[maybe_unused]] std::size_t size) {
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_start_switch_fiber(saved, to, size);
#endif
}

/// Tells AddressSanitizer that the thread has arrived on a stack.
void reach_stack([[maybe_unused]] void* saved, [[maybe_unused]] const void** from,
                 [[maybe_unused]] std::size_t* size) {
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(saved, from, size);
#endif
}

/// Returns what ThreadSanitizer keeps for a new fiber; null without it.
void* make_tsan_fiber() {
#ifdef __SANITIZE_THREAD__
  return __tsan_create_fiber(0);
#else
  return nullptr;
#endif
}

void drop_tsan_fiber([[maybe_unused]] void* of) {
#ifdef __SANITIZE_THREAD__
  __tsan_destroy_fiber(of);
#endif
}

/// Tells ThreadSanitizer which fiber continues. All fibers belong to one thread, so each sees what
/// the others have done before.
/// @returns the fiber that was left
void* switch_tsan_fiber([[maybe_unused]] void* to) {
#ifdef __SANITIZE_THREAD__
  auto* const from = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(to, 0);
  return from;
#else
  return nullptr;
#endif
}

std::byte* take_stack() {
  auto& free = free_stacks();
  if (!free.empty()) {
    auto* const last = free.back();
    free.pop_back();
#ifdef __SANITIZE_ADDRESS__
    ASAN_UNPOISON_MEMORY_REGION(last, stack_size);
#endif
    return last;
  }
  auto* const made = ::mmap(nullptr, stack_size, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  SUPERSTEP_ASSERT(made != MAP_FAILED);
  return static_cast<std::byte*>(made);
}

} // namespace

fiber::fiber(std::function<void()> body)
    : body_{std::move(body)}, stack_{take_stack()}, tsan_fiber_{make_tsan_fiber()} {
  ::getcontext(&here_);
  here_.uc_stack.ss_sp = stack_;
  here_.uc_stack.ss_size = stack_size;
  here_.uc_link = nullptr;
  const auto address = reinterpret_cast<std::uintptr_t>(this);
  ::makecontext(&here_, reinterpret_cast<void (*)()>(&fiber::enter), 2,
                static_cast<unsigned>(address >> 32), static_cast<unsigned>(address & 0xffffffff));
}

fiber::~fiber() {
  drop_tsan_fiber(tsan_fiber_);
  free_stacks().push_back(stack_);
}

fiber::per_thread fiber::exchange(per_thread with) noexcept {
  auto& thrown = *reinterpret_cast<exceptions_of_thread*>(abi::__cxa_get_globals());
  const auto before = per_thread{lane::current, thrown.caught, thrown.uncaught};
  lane::current = with.served;
  thrown = {with.caught, with.uncaught};
  return before;
}

void fiber::enter(unsigned high, unsigned low) {
  auto* const self = reinterpret_cast<fiber*>((std::uintptr_t{high} << 32) | low);
  reach_stack(nullptr, &self->outer_stack_, &self->outer_size_);
  self->body_();
  self->body_ = nullptr;
  self->has_ended_ = true;
  self->suspend();
}

void fiber::resume() {
  outer_ = exchange(mine_);
  auto* saved = static_cast<void*>(nullptr);
  leave_stack(&saved, stack_, stack_size);
  outer_tsan_fiber_ = switch_tsan_fiber(tsan_fiber_);
  ::swapcontext(&scheduler_, &here_);
  reach_stack(saved, nullptr, nullptr);
  mine_ = exchange(outer_);
}

void fiber::suspend() {
  auto* saved = static_cast<void*>(nullptr);
  leave_stack(has_ended_ ? nullptr : &saved, outer_stack_, outer_size_);
  static_cast<void>(switch_tsan_fiber(outer_tsan_fiber_));
  ::swapcontext(&here_, &scheduler_);
  reach_stack(saved, &outer_stack_, &outer_size_);
}

} // namespace superstep::simulation

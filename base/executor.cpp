// SPDX-License-Identifier: Apache-2.0
// The state of a wait (a suspended coroutine), and the counter that resumes a coroutine when all
// calls that it has forked have ended. Executors are implemented in actors/lane.cpp (the engine),
// sync_wait.cpp (without an engine) and tests/support.
#include <superstep/base/await.hpp>
#include <superstep/base/detail/executor.hpp>

#include <utility>

namespace superstep {

// The states of a wait:
//
//     waiting -> claimed -> ended    the awaited operation has ended, the coroutine is resumed
//     any state -> abandoned         the frame was destroyed, nothing is resumed
//
// claim() and publish() are separate steps, because the result is stored in between. If the frame
// is destroyed in that time, publish() finds `abandoned` and does nothing.

wait::wait(std::coroutine_handle<> frame, execution_context& at)
    : frame_{frame}, where_{at.where}, owner_{at.owner} {
  SUPERSTEP_ASSERT(at.where != nullptr);
}

wait::~wait() = default;

bool wait::claim() noexcept {
  auto expected = state::waiting;
  return state_.compare_exchange_strong(expected, state::claimed, std::memory_order_acq_rel);
}

void wait::publish() noexcept {
  auto expected = state::claimed;
  // The exchange fails if the frame was destroyed after the claim.
  if (state_.compare_exchange_strong(expected, state::ended, std::memory_order_acq_rel))
    where_->resume_soon(wait_ptr{this});
}

bool wait::end() noexcept {
  if (!claim())
    return false;
  publish();
  return true;
}

bool wait::end_in_place() noexcept {
  // The caller resumes the frame itself and stores no result, so `claimed` is skipped.
  auto expected = state::waiting;
  return state_.compare_exchange_strong(expected, state::ended, std::memory_order_acq_rel);
}

void wait::abandon() noexcept {
  state_.store(state::abandoned, std::memory_order_release);
}

bool wait::resumable() const noexcept {
  return state_.load(std::memory_order_acquire) == state::ended;
}

bool wait::abandoned() const noexcept {
  return state_.load(std::memory_order_acquire) == state::abandoned;
}

executor::~executor() = default;

void fork_join::arm(wait_ptr parent) noexcept {
  // The parent counts as one of the pending calls until it has suspended here. Otherwise a call
  // that ends early could resume the parent before it is suspended.
  parent_ = std::move(parent);
  one_done();
}

void fork_join::one_done() noexcept {
  if (pending_.fetch_sub(1, std::memory_order_acq_rel) == 1)
    std::exchange(parent_, nullptr)->end();
}

void sleep_until::begin(std::coroutine_handle<> frame, execution_context& at) {
  wait_ = new wait{frame, at};
  at.where->wake_at(when_, wait_);
}

} // namespace superstep

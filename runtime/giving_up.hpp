// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/detail/executor.hpp>

#include <coroutine>

namespace superstep::detail {

/// An awaitable that ends a body in the middle: the call ends, and the engine destroys the body's
/// frames without resuming them. For a body that waits for an interrupt; see interrupt_awaiter.
struct giving_up {
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> frame) const noexcept {
    auto& at = *frame.promise().at;
    at.where->give_up(at);
  }
  void await_resume() const noexcept {}
};

} // namespace superstep::detail

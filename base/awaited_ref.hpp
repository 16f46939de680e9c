// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/task.hpp>

#include <coroutine>
#include <exception>

namespace superstep::detail {

/// Awaits a task and returns a reference to the result, which the task owns. For large results: a
/// plain co_await moves them to the awaiting coroutine.
///
///     auto ended = awaited_ref{asking};
///     auto& answer = co_await ended;
///
/// @tparam T type of the result, not void
template <class T>
class awaited_ref {
public:
  /// @param awaited must outlive the uses of the result
  explicit awaited_ref(task<T>& awaited) noexcept : awaited_{awaited} {}

  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <class Promise>
  std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> parent) noexcept {
    return awaited_.await_suspend(parent);
  }
  /// Returns the result; throws what the coroutine threw.
  T& await_resume() {
    auto& promise =
        std::coroutine_handle<task_promise<T>>::from_address(awaited_.handle().address()).promise();
    if (promise.failure)
      std::rethrow_exception(promise.failure);
    return *promise.value;
  }

private:
  task<T>& awaited_;
};

} // namespace superstep::detail

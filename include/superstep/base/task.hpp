// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/detail/executor.hpp>
#include <superstep/base/detail/optional_box.hpp>
#include <superstep/base/detail/small_blocks.hpp>

#include <coroutine>
#include <cstddef>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

namespace superstep {

template <class T = void>
class task;

namespace detail {

/// The part of a promise that does not depend on the result type. Awaiters get the execution
/// context from it.
struct promise_base {
  execution_context* at = nullptr; // set before the coroutine starts
  // The coroutine that awaits this one.
  std::coroutine_handle<> continuation = std::noop_coroutine();
  std::exception_ptr failure; // the exception that left the coroutine

  /// Resumes the coroutine that awaits this one.
  struct final_awaiter {
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> self) noexcept {
      return self.promise().continuation;
    }
    void await_resume() const noexcept {}
  };

  /// Allocate the frame, of which the promise is a part. @{
  // NOLINTNEXTLINE(misc-new-delete-overloads): belongs to the operator delete with a size
  static void* operator new(std::size_t bytes) { return take_block(bytes); }
  static void operator delete(void* frame, std::size_t bytes) noexcept { free_block(frame, bytes); }
  /// @}

  [[nodiscard]] std::suspend_always initial_suspend() const noexcept { return {}; }
  [[nodiscard]] final_awaiter final_suspend() const noexcept { return {}; }
  void unhandled_exception() noexcept { failure = std::current_exception(); }
};

/// The largest size in bytes of a result that is stored in the frame of its coroutine.
inline constexpr std::size_t result_in_frame_max = 32;

/// A type that holds a value or an error, such as superstep::result.
template <class T>
concept value_or_error = requires { typename T::error_type; };

/// Whether the result of a coroutine is stored in its frame. Other results are allocated at the end
/// of the coroutine: most coroutines wait much longer than their result exists. A coroutine that
/// returns an error must be able to end without memory: its caller could not know what it has done.
template <class T>
inline constexpr bool is_result_in_frame = sizeof(T) <= result_in_frame_max || value_or_error<T>;

template <class T>
using coroutine_result =
    std::conditional_t<is_result_in_frame<T>, std::optional<T>, optional_box<T>>;

/// The promise of a task with a result.
template <class T>
struct task_promise : promise_base {
  coroutine_result<T> value;
  task<T> get_return_object() noexcept;
  template <class U>
    requires std::convertible_to<U&&, T>
  void return_value(U&& v) {
    value.emplace(std::forward<U>(v));
  }
  T take() {
    if (failure)
      std::rethrow_exception(failure);
    SUPERSTEP_ASSERT(value.has_value());
    return std::move(*value);
  }
};

/// The promise of a task without a result.
template <>
struct task_promise<void> : promise_base {
  task<void> get_return_object() noexcept;
  void return_void() const noexcept {}
  void take() const {
    if (failure)
      std::rethrow_exception(failure);
  }
};

} // namespace detail

/// A coroutine that starts when it is awaited, or when the engine starts it. Nodes and tools may
/// return a task instead of a plain value.
///
/// The coroutine is resumed only in the executor in which it was started. When its call is
/// cancelled, the suspended frame is destroyed; no exception is thrown into it.
///
/// A task object owns the frame and destroys it. Await a task once; co_await returns the result or
/// throws what the coroutine threw.
/// @tparam T type of the result; may be void
/// @par Threads
/// A task object is not thread-safe.
template <class T>
class [[nodiscard]] task {
public:
  /// The promise type that the compiler uses for coroutines of this type.
  using promise_type = detail::task_promise<T>;
  /// Type of the result.
  using value_type = T;

  /// Makes an empty task to assign to, which must not be awaited.
  task() noexcept = default;
  /// Takes ownership of a coroutine; called by the promise.
  explicit task(std::coroutine_handle<promise_type> frame) noexcept : frame_{frame} {}
  /// Takes over the coroutine; `other` becomes empty.
  task(task&& other) noexcept : frame_{std::exchange(other.frame_, {})} {}
  /// Destroys the own coroutine and takes over that of `other`, which becomes empty.
  task& operator=(task&& other) noexcept {
    if (this != &other) {
      reset();
      frame_ = std::exchange(other.frame_, {});
    }
    return *this;
  }
  /// Destroys the coroutine, which cancels it if it has not ended.
  ~task() { reset(); }

  /// Whether the task holds a coroutine.
  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(frame_); }

  /// Always suspends the awaiting coroutine.
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  /// Starts this task at once, in the execution context of the awaiting task.
  template <class Promise>
    requires std::derived_from<Promise, detail::promise_base>
  std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> parent) noexcept {
    SUPERSTEP_ASSERT(frame_);
    frame_.promise().at = parent.promise().at;
    frame_.promise().continuation = parent;
    return frame_;
  }
  /// Returns the result; throws what the coroutine threw.
  T await_resume() { return frame_.promise().take(); }

  /// Sets `at` as the execution context of an outermost task. Must be called before the first
  /// resume(); used by the engine and sync_wait().
  void start_in(execution_context& at) noexcept { frame_.promise().at = &at; }
  /// Gives up the coroutine without destroying it; the task is empty afterwards.
  [[nodiscard]] std::coroutine_handle<promise_type> release() noexcept {
    return std::exchange(frame_, {});
  }
  /// Returns the coroutine, for the executor that resumes it.
  [[nodiscard]] std::coroutine_handle<> handle() const noexcept { return frame_; }
  /// Whether the coroutine has ended. Must not be called for an empty task.
  [[nodiscard]] bool done() const noexcept { return frame_.done(); }
  /// Returns the result of a task that is done(); throws what the coroutine threw.
  T take() { return frame_.promise().take(); }

private:
  void reset() noexcept {
    if (frame_)
      std::exchange(frame_, {}).destroy();
  }

  std::coroutine_handle<promise_type> frame_{};
};

namespace detail {
template <class T>
task<T> task_promise<T>::get_return_object() noexcept {
  return task<T>{std::coroutine_handle<task_promise<T>>::from_promise(*this)};
}
inline task<void> task_promise<void>::get_return_object() noexcept {
  return task<void>{std::coroutine_handle<task_promise<void>>::from_promise(*this)};
}
} // namespace detail

/// Returns a task whose result is `value`. May be called from any thread.
template <class T>
task<T> ready(T value) {
  co_return value;
}

/// Whether T is a task. This primary template is for types that are not.
template <class T>
struct is_task : std::false_type {
  using value_type = T; ///< T itself
};
/// The specialisation for tasks.
template <class T>
struct is_task<task<T>> : std::true_type {
  using value_type = T; ///< type of the task's result
};
/// Whether T is a task.
template <class T>
inline constexpr bool is_task_v = is_task<T>::value;
/// Type of the result of co_await for a task; T itself for other types.
template <class T>
using awaited_t = typename is_task<T>::value_type;

} // namespace superstep

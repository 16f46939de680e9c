// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/detail/assert.hpp>
#include <superstep/base/task.hpp>

#include <coroutine>
#include <memory>
#include <utility>

namespace superstep::detail {

/// Base of objects that a body's coroutine refers to; see body_task.
struct kept_arguments {
  kept_arguments() = default;
  kept_arguments(const kept_arguments&) = delete;
  kept_arguments& operator=(const kept_arguments&) = delete;
  virtual ~kept_arguments() = default;
};

/// The coroutine of a node's body. The type of its result is known to the body only, which takes it
/// in node_body::finish(). The coroutine of a user's function thus needs no other coroutine around
/// it that converts its result.
class body_task {
public:
  body_task() noexcept = default;
  /// Takes ownership of a coroutine that has not started.
  /// @param kept what the coroutine refers to; destroyed after the coroutine
  template <class T>
  body_task(task<T> body, std::unique_ptr<kept_arguments> kept = nullptr) noexcept
      : frame_{body.release()}, type_{&type_of<T>}, kept_{std::move(kept)} {}
  body_task(body_task&& other) noexcept
      : frame_{std::exchange(other.frame_, {})}, type_{other.type_}, kept_{std::move(other.kept_)} {
  }
  body_task& operator=(body_task&& other) noexcept {
    if (this != &other) {
      reset();
      frame_ = std::exchange(other.frame_, {});
      type_ = other.type_;
      kept_ = std::move(other.kept_);
    }
    return *this;
  }
  ~body_task() { reset(); }

  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(frame_); }
  [[nodiscard]] bool done() const noexcept { return frame_.done(); }
  /// Runs the coroutine in `at` until it ends or first suspends.
  void start(execution_context& at) {
    type_->promise(frame_).at = &at;
    frame_.resume();
  }
  /// Whether the result of the coroutine is a T.
  template <class T>
  [[nodiscard]] bool returns() const noexcept {
    return type_ == &type_of<T>;
  }
  /// Returns the result; throws what the coroutine threw. @pre done() && returns<T>()
  template <class T>
  T take() {
    SUPERSTEP_ASSERT(returns<T>() && done());
    return typed<T>(frame_).promise().take();
  }
  /// Returns what the coroutine refers to; null if there is nothing.
  [[nodiscard]] kept_arguments* kept() const noexcept { return kept_.get(); }

private:
  struct result_type {
    promise_base& (*promise)(std::coroutine_handle<>) noexcept;
  };
  template <class T>
  [[nodiscard]] static std::coroutine_handle<task_promise<T>>
  typed(std::coroutine_handle<> frame) noexcept {
    return std::coroutine_handle<task_promise<T>>::from_address(frame.address());
  }
  template <class T>
  [[nodiscard]] static promise_base& promise_of(std::coroutine_handle<> frame) noexcept {
    return typed<T>(frame).promise();
  }
  template <class T>
  static constexpr result_type type_of{&promise_of<T>};

  void reset() noexcept {
    if (frame_)
      std::exchange(frame_, {}).destroy();
    kept_.reset();
  }

  std::coroutine_handle<> frame_{};
  const result_type* type_ = nullptr;
  std::unique_ptr<kept_arguments> kept_;
};

} // namespace superstep::detail

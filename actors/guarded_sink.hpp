// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/actors/detail/event_stream.hpp>

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <utility>

namespace superstep {

/// Wraps a sink of the application. An exception of the sink then ends its run instead of the
/// process: the lane reads it with failure(). After the first exception the sink is not called
/// again.
class guarded_sink final : public detail::event_sink {
public:
  explicit guarded_sink(std::shared_ptr<detail::event_sink> inner) : inner_{std::move(inner)} {}

  void push(detail::run_event e) override {
    guarded([&] { inner_->push(std::move(e)); });
  }
  [[nodiscard]] bool is_full() const override {
    auto full = false;
    guarded([&] { full = inner_->is_full(); });
    return full;
  }
  void on_room(std::function<void()> notify) override {
    guarded([&] { inner_->on_room(std::move(notify)); });
  }

  /// Returns the first exception that the sink has thrown, or null. Thread-safe.
  [[nodiscard]] std::exception_ptr failure() const noexcept {
    return has_failed_.load(std::memory_order_acquire) ? cause_ : nullptr;
  }

private:
  template <class Call>
  void guarded(Call call) const noexcept {
    if (was_claimed_.load(std::memory_order_relaxed))
      return;
    try {
      call();
    } catch (...) {
      // another thread has stored its exception
      if (was_claimed_.exchange(true, std::memory_order_acq_rel))
        return;
      cause_ = std::current_exception();
      has_failed_.store(true, std::memory_order_release);
    }
  }

  const std::shared_ptr<detail::event_sink> inner_;
  mutable std::atomic<bool> was_claimed_{false};
  mutable std::atomic<bool> has_failed_{false};
  mutable std::exception_ptr cause_;
};

} // namespace superstep

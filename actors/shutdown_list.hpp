// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace superstep::detail {

/// An object that must be notified before its engine shuts down.
class shutdown_listener {
public:
  virtual ~shutdown_listener() = default;
  /// Called once, on the thread that destroys the engine, while the engine still accepts calls.
  virtual void on_shutdown() noexcept = 0;
};

/// The listeners of an engine. Does not keep them alive.
class shutdown_list {
public:
  /// Adds a listener. Thread-safe.
  void add(std::weak_ptr<shutdown_listener> one) {
    const auto lock = std::scoped_lock{mutex_};
    // Listeners that no longer exist are removed when the list has doubled, so that the cost of an
    // addition is constant on average.
    if (all_.size() >= sweep_at_) {
      std::erase_if(all_, [](const auto& l) { return l.expired(); });
      sweep_at_ = std::max<std::size_t>(2 * all_.size(), sweep_min);
    }
    all_.push_back(std::move(one));
  }
  /// Notifies all listeners.
  void notify() noexcept {
    auto all = decltype(all_){};
    {
      const auto lock = std::scoped_lock{mutex_};
      all.swap(all_);
    }
    for (const auto& one : all)
      if (const auto alive = one.lock())
        alive->on_shutdown();
  }

private:
  static constexpr std::size_t sweep_min = 64;
  std::mutex mutex_;
  std::vector<std::weak_ptr<shutdown_listener>> all_;
  std::size_t sweep_at_ = sweep_min;
};

} // namespace superstep::detail

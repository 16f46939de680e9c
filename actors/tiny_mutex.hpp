// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace superstep {

/// A mutex of one byte, for records that exist in large numbers and are rarely locked by two
/// threads at once. A thread that waits for it sleeps.
class tiny_mutex {
public:
  tiny_mutex() = default;
  tiny_mutex(const tiny_mutex&) = delete;
  tiny_mutex& operator=(const tiny_mutex&) = delete;

  void lock() noexcept {
    auto seen = std::uint8_t{unlocked};
    if (state_.compare_exchange_strong(seen, locked, std::memory_order_acquire))
      return;
    while (state_.exchange(contended, std::memory_order_acquire) != unlocked)
      state_.wait(contended, std::memory_order_relaxed);
  }
  void unlock() noexcept {
    if (state_.exchange(unlocked, std::memory_order_release) == contended)
      state_.notify_one();
  }

private:
  enum : std::uint8_t { unlocked, locked, contended };
  std::atomic<std::uint8_t> state_{unlocked};
};

} // namespace superstep

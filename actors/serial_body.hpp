// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <utility>

namespace superstep {

/// The report of a body that has held a lock that all bodies of its kind share, such as the GIL of
/// Python. Further threads do not make such bodies faster, so they run as jobs only if they are
/// longer than a tick of the watcher. Belongs to the calling thread.
class serial_body {
public:
  /// Reports the time for which the body has held the lock, without the time for which it waited.
  static void report(std::chrono::nanoseconds held) noexcept { last() = held; }
  /// Returns what the body has reported that has run last, and forgets it.
  [[nodiscard]] static std::optional<std::chrono::nanoseconds> take() noexcept {
    return std::exchange(last(), std::nullopt);
  }

private:
  [[nodiscard]] static std::optional<std::chrono::nanoseconds>& last() noexcept {
    static thread_local auto held = std::optional<std::chrono::nanoseconds>{};
    return held;
  }
};

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <ctime>
#include <optional>

namespace superstep {

/// The CPU time and the state of a thread of this process. Any thread may ask for them, also after
/// the observed thread has ended; nothing is known about it then. Small enough for std::atomic.
class thread_clock {
public:
  /// The clock of no thread.
  thread_clock() = default;
  [[nodiscard]] static thread_clock of_this_thread() noexcept;

  /// Returns the CPU time that the thread has used so far; nullopt if it is not known.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> used() const noexcept;
  /// Whether the thread runs or waits for a core; true if it is not known. Reads a file of /proc.
  [[nodiscard]] bool is_runnable() const noexcept;

private:
  int kernel_id_ = 0; // 0: no thread
  clockid_t clock_{};
};

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>

namespace superstep {

/// Counts the results of an engine's runs that wait until a checkpointer has saved the checkpoints
/// of their runs. The checkpointer's thread then calls the callback. The engine's destructor waits
/// for these callbacks, and closes the object when it returns, so that later ones are dropped. The
/// results share the object with the engine. All members may be called from any thread.
class late_results {
public:
  /// Counts a result from the time at which it starts to wait.
  void add();
  /// Counts a result no more: its callback has returned, or was dropped.
  void remove();
  /// Whether callbacks may still be called.
  [[nodiscard]] bool is_open() const;
  [[nodiscard]] bool is_empty() const;
  /// Waits until there is no result. Returns false if there still is one at the time `until`.
  [[nodiscard]] bool await_empty(std::chrono::steady_clock::time_point until);
  /// Makes is_open() return false.
  void close();

private:
  mutable std::mutex mutex_;
  std::condition_variable emptied_;
  std::size_t count_ = 0;
  bool closed_ = false;
};

} // namespace superstep

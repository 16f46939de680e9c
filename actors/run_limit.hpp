// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>

namespace superstep {

/// Counts the live runs of an engine that has a limit (engine_options::runs_max). Each run that was
/// admitted leaves exactly once. All members may be called from any thread.
class run_limit {
public:
  /// @param runs_max at least 1
  explicit run_limit(std::size_t runs_max) noexcept : runs_max_{runs_max} {}

  /// Admits a run if fewer than the limit are live. Returns whether it did.
  [[nodiscard]] bool try_enter();
  /// Waits until fewer than the limit are live, and admits the run. Returns false after close().
  [[nodiscard]] bool enter();
  /// Admits a run even if the limit is reached.
  void enter_above_limit();
  /// Counts an admitted run as ended.
  void leave();
  /// Ends the waits of enter(), also those of later calls.
  void close();

private:
  const std::size_t runs_max_;
  std::mutex mutex_;
  std::condition_variable has_room_;
  std::size_t live_ = 0;
  bool closed_ = false;
};

/// The admission of one run. Counts the run as ended when leave() is called, or when it is
/// destroyed because the run could not be started.
class admitted_run {
public:
  admitted_run() = default;
  admitted_run(const admitted_run&) = delete;
  admitted_run& operator=(const admitted_run&) = delete;
  ~admitted_run() { leave(); }
  /// Takes over the admission that `limit` has granted.
  void hold(std::shared_ptr<run_limit> limit) noexcept { limit_ = std::move(limit); }
  void leave() {
    if (const auto limit = std::exchange(limit_, nullptr))
      limit->leave();
  }

private:
  std::shared_ptr<run_limit> limit_;
};

} // namespace superstep

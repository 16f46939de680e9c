// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "late_results.hpp"

#include <superstep/actors/detail/run_event.hpp>
#include <superstep/checkpoint/checkpointer.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <utility>

namespace superstep {

/// Delivers the result of a run with a checkpointer when all of the run's checkpoints are durable
/// or saving has failed. Allocated when the run starts, so that the result reaches its callback
/// even if memory is short at the end.
class saved_result : public std::enable_shared_from_this<saved_result> {
public:
  saved_result(std::shared_ptr<superstep::checkpointer> checkpointer, thread_key key)
      : checkpointer_{std::move(checkpointer)}, key_{std::move(key)} {}
  saved_result(const saved_result&) = delete;
  saved_result& operator=(const saved_result&) = delete;
  ~saved_result();
  /// Waits for the checkpointer, then releases the lease and calls `done`. When `late` is closed,
  /// `done` is dropped.
  void deliver(std::shared_ptr<late_results> late, lease_ptr lease,
               std::function<void(detail::raw_result)> done, detail::raw_result&& raw) noexcept;

private:
  void notify() noexcept;
  void report() noexcept;

  std::shared_ptr<superstep::checkpointer> checkpointer_;
  thread_key key_;
  std::shared_ptr<late_results> late_; ///< counts this result until it was reported
  lease_ptr lease_;
  std::function<void(detail::raw_result)> done_;
  detail::raw_result raw_{};
  /// set by the first of the calls that report the end; a checkpointer may report it and throw
  std::atomic<bool> is_notified_{false};
};

} // namespace superstep

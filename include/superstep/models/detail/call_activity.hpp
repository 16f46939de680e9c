// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace superstep {

/// Counts the calls of models that wait for limits or are repeated after errors, for progress
/// reports. One object counts for all models of an agent. Calls that succeed at once and wait for
/// nothing do not touch it.
/// @par Threads
/// All members may be called by any thread.
class call_activity {
public:
  /// The counts at one moment.
  struct snapshot {
    std::uint64_t retries = 0; ///< attempts so far that failed and were repeated
    std::size_t repeating = 0; ///< calls whose latest attempt failed and is repeated
    std::size_t waiting = 0;   ///< calls that wait for a limit
    /// The latest error of an attempt that was repeated. Empty if there was none, or if the last of
    /// the repeated calls has succeeded since then.
    std::string last_error{};
  };
  /// Returns the current counts.
  [[nodiscard]] snapshot now() const;

  /// Stores a warning about a failure that did not fail a call, for the end of the job. Stores
  /// equal warnings once.
  void warn(const std::string& text);
  /// Returns the warnings, in the order of warn().
  [[nodiscard]] std::vector<std::string> warnings() const;

  /// Counts a call as waiting for a limit during its lifetime.
  class waiting_call {
  public:
    /// @param in counts the call; may be null
    explicit waiting_call(std::shared_ptr<call_activity> in) : in_{std::move(in)} {
      if (in_)
        in_->waiting_.fetch_add(1, std::memory_order_relaxed);
    }
    waiting_call(const waiting_call&) = delete;
    waiting_call& operator=(const waiting_call&) = delete;
    ~waiting_call() {
      if (in_)
        in_->waiting_.fetch_sub(1, std::memory_order_relaxed);
    }

  private:
    std::shared_ptr<call_activity> in_;
  };

  /// Counts a call as repeated, from its first failed attempt until the object is destroyed.
  class repeated_call {
  public:
    /// @param in counts the call; must outlive the object; may be null
    explicit repeated_call(call_activity* in) noexcept : in_{in} {}
    repeated_call(const repeated_call&) = delete;
    repeated_call& operator=(const repeated_call&) = delete;
    ~repeated_call() {
      if (has_failed_)
        in_->end(false);
    }
    /// Reports that an attempt has failed and another one follows.
    void failed(std::string_view why);
    /// Reports that the call has succeeded. No other call may follow.
    void succeeded();

  private:
    call_activity* in_;
    bool has_failed_ = false;
  };

private:
  void end(bool has_succeeded);

  std::atomic<std::size_t> waiting_{0};
  mutable std::mutex mutex_;
  std::uint64_t retries_ = 0;
  std::size_t repeating_ = 0;
  std::string last_error_;
  std::vector<std::string> warnings_;
};

} // namespace superstep

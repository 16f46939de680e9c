// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

namespace superstep::detail {

/// Decides when a job may start rows while the quota of the provider's account is exhausted.
///
/// The first row that reports it starts a pause. After the pause, one row runs as a probe. If it
/// reports the same, the next pause is twice as long. If a row finishes, or the probe runs for some
/// seconds, the quota is available again.
///
/// Only the feeding thread (see row_table) uses it, so it has no lock.
class quota_control {
public:
  using time_point = std::chrono::steady_clock::time_point;

  /// @param wait_max how long the job waits for the quota. The pauses depend on it: the first lasts
  ///   a fortieth of it, from 100 ms to 30 s, and the longest a tenth, from 100 ms to 5 minutes
  explicit quota_control(std::chrono::milliseconds wait_max);

  /// Reports a row that ended because the quota is exhausted. Returns whether it starts a new wait.
  bool met(time_point now);
  /// Reports that a row was started.
  void started(time_point now);
  /// Reports how many rows have ended otherwise since the job started. Returns whether the quota is
  /// available again.
  bool finished(std::uint64_t total, time_point now);

  /// Whether the quota is exhausted.
  [[nodiscard]] bool is_active() const noexcept { return phase_ != phase::open; }
  /// Whether a row may start now.
  [[nodiscard]] bool may_start(time_point now) const noexcept;
  /// Returns the time until the next probe; 0 while one runs.
  [[nodiscard]] std::chrono::nanoseconds pause(time_point now) const noexcept;
  /// Whether the job has waited for longer than the configured wait.
  [[nodiscard]] bool is_hopeless(time_point now) const noexcept;

private:
  /// open → paused: a row reports an exhausted quota.
  /// paused → probing: the pause is over and a row starts.
  /// probing → paused: a row reports an exhausted quota.
  /// probing → open: a row ends otherwise, or the probe runs for some seconds.
  enum class phase : std::uint8_t { open, paused, probing };

  std::chrono::milliseconds wait_max_;
  std::chrono::milliseconds pause_min_;
  std::chrono::milliseconds pause_max_;
  std::chrono::milliseconds pause_;
  phase phase_ = phase::open;
  time_point since_;        ///< start of the wait
  time_point next_;         ///< end of the pause
  time_point probed_;       ///< start of the probe
  std::uint64_t ended_ = 0; ///< rows that had ended when the probe started
  std::uint64_t total_ = 0; ///< rows that have ended
};

} // namespace superstep::detail

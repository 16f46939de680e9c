// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace superstep::models {

/// Options of concurrency_control.
struct concurrency_options {
  std::size_t limit_max = 256; ///< maximum number of calls in flight; 0 = no limit
  std::size_t limit_min = 1;   ///< the limit is never lowered below this number
};

/// Finds how many concurrent calls a server accepts, from its answers and refusals alone.
///
/// It is a gradient limiter. In windows of many answers it measures how many of the calls in flight
/// the server accepts. This number is the average of all calls in flight minus the average of
/// refused calls. Each change of the limit is an experiment, and its result decides whether the
/// change is kept:
///
/// - After many refusals, the limit falls to the number of accepted calls. If this number then
///   falls in proportion, the refusals do not depend on the load: the old limit is restored, and
///   the share of refusals counts as normal for some time. A server that refuses one call in twenty
///   at random therefore keeps its full load, and a server that can handle 500 calls gets 500.
/// - Without more refusals than normal, the limit rises by a tenth. If the accepted calls rise in
///   proportion, the next raise is twice as large, up to doubling the limit. Otherwise the old
///   limit is restored, and the next raise comes later.
///
/// All refusals in one window count as one event of congestion. Nothing is measured before the
/// first refusal.
///
/// @par Threads
/// Not synchronised. The caller passes the time.
class concurrency_control {
public:
  using time_point = std::chrono::steady_clock::time_point;

  explicit concurrency_control(concurrency_options options);

  /// Reports that a call was answered. `in_flight` includes this call.
  void answered(time_point now, std::size_t in_flight);
  /// Reports that the server refused a call because it is overloaded. The call was sent at `sent`.
  void refused(time_point sent, time_point now, std::size_t in_flight);
  /// Discards the current window and starts the next one at `until`, or later if its planned begin
  /// is later. Until then nothing is counted: calls from before the pause still end, but no new
  /// ones are sent, so the answers do not show what the server accepts at the current limit.
  void paused(time_point until);

  /// Returns the maximum number of calls in flight; 0 = no limit.
  [[nodiscard]] std::size_t limit() const noexcept;
  /// Whether all of the latest calls were refused. The server then accepts no calls at present, and
  /// a wait that it requests applies to all calls. After a single refusal, it applies to that call
  /// only.
  [[nodiscard]] bool is_shut_out() const noexcept;
  /// Whether a call was refused. Until then, answered() does nothing.
  [[nodiscard]] bool is_active() const noexcept { return is_active_; }

private:
  enum class phase : std::uint8_t { steady, lowered, raised };
  /// The averages of one window.
  struct load {
    double in_flight = 0;
    double accepted = 0;
    double limit = 0;
    double refused_share = 0; ///< refused share of the calls in flight
    double refused_count = 0; ///< refused share of the answers
  };

  void count(time_point now, std::size_t in_flight);
  void judge(time_point now, double seconds);
  void judge_steady(const load& seen);
  void judge_lowered(const load& seen);
  void judge_raised(const load& seen);
  void lower(const load& seen);
  void raise(const load& seen);
  void restart(time_point now);
  void set_limit(double limit);
  [[nodiscard]] bool has_enough(double seconds) const;
  [[nodiscard]] bool follows(double accepted, double in_flight) const;
  [[nodiscard]] bool is_congested(const load& seen) const;

  double limit_max_;
  double limit_min_;
  double limit_;
  phase phase_ = phase::steady;
  bool is_active_ = false;
  std::size_t refusals_in_a_row_ = 0;

  // The current window:
  time_point begin_{};
  std::size_t answers_ = 0;
  std::size_t refusals_ = 0;
  std::size_t clean_answers_ = 0; ///< answers since the last refusal
  double refused_seconds_ = 0;
  double in_flight_sum_ = 0;

  load before_;                ///< the load before the current experiment
  double refusal_seconds_ = 0; ///< moving average of the duration of a refused call
  double growth_;              ///< the next raise, as a share of the limit
  std::size_t steady_windows_ = 0;
  std::size_t raise_after_ = 1; ///< number of steady windows before the next raise
  double normal_share_ = 0;     ///< share of refusals that does not depend on the load
  double normal_count_ = 0;
  std::size_t normal_windows_ = 0; ///< number of windows until normal_share_ expires
  std::size_t undrained_windows_ = 0;
};

} // namespace superstep::models

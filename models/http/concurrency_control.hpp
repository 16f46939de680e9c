// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace superstep::models {

/// Options of concurrency_control.
struct concurrency_options {
  std::size_t limit_max = 256; ///< calls in flight; 0 = no limit
  std::size_t limit_min = 1;   ///< lower bound of the limit
};

/// Finds how many calls in flight a server accepts, using only its answers and refusals.
///
/// A gradient limiter. It measures, over windows of many answers, how many of the calls in flight
/// are accepted ones: those in flight minus the time that refused calls spend, per second. Each
/// change of the limit is an experiment whose result decides about it:
///
/// - Many refusals: the limit falls to the number of accepted calls. If that number then falls
///   along with the limit, the refusals do not depend on the load; the limit returns to where it
///   was and this share of refusals is taken as normal for a time. So a server that refuses one
///   call in twenty at random keeps its full load, and one that can take 500 calls gets 500.
/// - No more refusals than normal: the limit rises by a tenth. If the accepted calls rise along
///   with it, the next rise is twice as large, up to doubling; otherwise the limit returns to where
///   it was and the next attempt comes later.
///
/// All refusals of one window are one congestion event. Nothing is measured before the first
/// refusal.
///
/// @par Threads
/// Not synchronised. The caller passes the time.
class concurrency_control {
public:
  using time_point = std::chrono::steady_clock::time_point;

  explicit concurrency_control(concurrency_options options);

  /// Reports an answered call, which `in_flight` includes.
  void answered(time_point now, std::size_t in_flight);
  /// Reports a call, sent at `sent`, that the server refused because it is overloaded.
  void refused(time_point sent, time_point now, std::size_t in_flight);
  /// Discards measurements until `until`, because no call is sent before then.
  void paused(time_point until);

  /// Returns the maximum number of calls in flight; 0 = no limit.
  [[nodiscard]] std::size_t limit() const noexcept;
  /// Whether all of the latest calls were refused. The server then accepts nothing at present, and
  /// a time that it specifies concerns all calls. A single refusal only concerns its own call.
  [[nodiscard]] bool is_shut_out() const noexcept;
  /// Whether any call was refused; before that, answers need not be reported.
  [[nodiscard]] bool is_active() const noexcept { return is_active_; }

private:
  enum class phase : std::uint8_t { steady, lowered, raised };
  /// The average calls in flight during one window, by their outcome.
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

  // The current window.
  time_point begin_{};
  std::size_t answers_ = 0;
  std::size_t refusals_ = 0;
  std::size_t clean_answers_ = 0; ///< answers since the last refusal
  double refused_seconds_ = 0;
  double in_flight_sum_ = 0;

  load before_;                ///< the load before the current experiment
  double refusal_seconds_ = 0; ///< moving average of the duration of a refused call
  double growth_;              ///< size of the next raise, as a share of the limit
  std::size_t steady_windows_ = 0;
  std::size_t raise_after_ = 1; ///< steady windows before the next raise
  double normal_share_ = 0;     ///< share of refusals that does not depend on the load
  double normal_count_ = 0;
  std::size_t normal_windows_ = 0; ///< number of windows for which normal_share_ remains valid
  std::size_t undrained_windows_ = 0;
};

} // namespace superstep::models

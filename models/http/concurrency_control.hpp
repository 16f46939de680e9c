// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace superstep::models {

struct concurrency_options {
  std::size_t limit_max = 256; ///< calls in flight; 0 = no limit
  std::size_t limit_min = 1;   ///< the limit never falls below this
};

/// Finds how many calls in flight a server accepts, from its answers and refusals alone.
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
/// Not synchronised. Time comes from the caller.
class concurrency_control {
public:
  using time_point = std::chrono::steady_clock::time_point;

  explicit concurrency_control(concurrency_options options);

  /// A call was answered. `in_flight` counts it as well.
  void answered(time_point now, std::size_t in_flight);
  /// A call that went out at `sent` was refused because the server has too much to do.
  void refused(time_point sent, time_point now, std::size_t in_flight);
  /// Discards measurements until `until`, because no call goes out before then.
  void paused(time_point until);

  /// Calls that may be in flight; 0 = no limit.
  [[nodiscard]] std::size_t limit() const noexcept;
  /// Whether the latest answers were all refusals: the server takes nothing at present, and a time
  /// it names concerns all calls. A refusal between good answers concerns only its own call.
  [[nodiscard]] bool is_shut_out() const noexcept;
  /// Whether there has been a refusal; before that, answers need not be reported.
  [[nodiscard]] bool is_active() const noexcept { return is_active_; }

private:
  enum class phase : std::uint8_t { steady, lowered, raised };
  /// Calls in flight over one window, by what became of them.
  struct load {
    double in_flight = 0;
    double accepted = 0;
    double limit = 0;
    double refused_share = 0; ///< of the calls in flight
    double refused_count = 0; ///< of the answers
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

  // The window.
  time_point begin_{};
  std::size_t answers_ = 0;
  std::size_t refusals_ = 0;
  std::size_t clean_answers_ = 0; ///< since the last refusal
  double refused_seconds_ = 0;
  double in_flight_sum_ = 0;

  load before_;                 ///< what the experiment under way is compared with
  double refusal_seconds_ = 0;  ///< moving average of the time of a refusal
  double growth_;               ///< of the next rise, as a share of the limit
  std::size_t steady_windows_ = 0;
  std::size_t raise_after_ = 1; ///< steady windows before the next attempt to rise
  double normal_share_ = 0;     ///< refusals that do not depend on the load
  double normal_count_ = 0;
  std::size_t normal_windows_ = 0; ///< for how long that is believed
  std::size_t undrained_windows_ = 0;
};

} // namespace superstep::models

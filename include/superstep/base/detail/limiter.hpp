// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/detail/executor.hpp>
#include <superstep/base/task.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

namespace superstep {

/// How many may be inside at once: one object per resource, shared by all runs of the process.
///
/// Whoever finds it full is suspended and let in in the order of arrival. A waiter whose coroutine
/// goes away leaves the line; a permit that was on its way to it goes to the next one.
///
/// @par Threads
/// Every member from any thread. Copies share one limit; permits keep it alive.
class limiter {
  struct state;

public:
  /// The right to be inside. Given back by the destructor, on any thread.
  class [[nodiscard]] permit {
  public:
    permit() noexcept = default;
    permit(permit&&) noexcept = default;
    permit& operator=(permit&& other) noexcept {
      if (this != &other) {
        release();
        from_ = std::move(other.from_);
      }
      return *this;
    }
    ~permit() { release(); }
    void release() noexcept;
    [[nodiscard]] explicit operator bool() const noexcept { return from_ != nullptr; }

  private:
    friend class limiter;
    explicit permit(std::shared_ptr<state> from) noexcept : from_{std::move(from)} {}
    std::shared_ptr<state> from_;
  };

  /// `limit` at once; 0 = no limit.
  explicit limiter(std::size_t limit);

  [[nodiscard]] task<permit> acquire() const;
  /// Without waiting; nothing when it is full or others stand in line.
  [[nodiscard]] std::optional<permit> try_acquire() const;

  /// A higher limit lets waiters in at once; a lower one takes effect as permits come back.
  void set_limit(std::size_t limit) const;
  [[nodiscard]] std::size_t limit() const;
  [[nodiscard]] std::size_t in_flight() const;
  [[nodiscard]] std::size_t in_flight_max() const; ///< the most there ever were
  [[nodiscard]] std::size_t waiting() const;

private:
  static std::optional<permit> enter(const std::shared_ptr<state>& in);
  static task<permit> wait_in_line(std::shared_ptr<state> in);
  static void let_in(const std::shared_ptr<state>& in);
  std::shared_ptr<state> state_;
};

/// Bounds of a provider and key per minute; 0 = no limit.
struct rate_limits {
  std::int64_t requests_per_minute = 0;
  std::int64_t tokens_per_minute = 0;
  /// How much of a minute's worth may go out at once after a time of rest; at least one request.
  std::chrono::milliseconds burst{1'000};
};

/// When requests may go out: two token buckets (requests and model tokens per minute) and a gate
/// that a provider's "too many requests" closes for a time.
///
/// Tokens are reserved before a request as an estimate and settled when the true number is known; a
/// bucket may go below zero by that, which later requests wait out.
///
/// @par Threads
/// Every member from any thread. Copies share one state.
/// @par Time
/// Monotonic, from the executor of the coroutine that waits or given as `now`: tests bring their
/// own.
class rate_limiter {
  struct state;

public:
  using time_point = executor::time_point;

  explicit rate_limiter(rate_limits limits);

  /// Waits, first come first served, until one request with that many tokens may go out.
  [[nodiscard]] task<void> reserve(std::int64_t tokens) const;
  /// The same without waiting: takes what is asked for and returns `now`, or takes nothing and
  /// returns when to ask again.
  [[nodiscard]] time_point try_reserve(std::int64_t tokens, time_point now) const;
  /// The request took `used` instead of the reserved number of tokens.
  void settle(std::int64_t reserved, std::int64_t used) const;
  /// Nothing goes out before `until`. The latest call for the longest pause wins.
  void pause_until(time_point until) const;
  [[nodiscard]] time_point paused_until() const;

private:
  static task<void> wait_for_turn(std::shared_ptr<state> in, std::int64_t tokens);
  std::shared_ptr<state> state_;
};

} // namespace superstep

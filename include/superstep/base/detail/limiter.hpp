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

/// A limit on the number of concurrent users of a resource. All runs of a process share one object
/// per resource.
///
/// A coroutine that finds the limiter full is suspended; waiters are admitted in the order of
/// arrival. A waiter whose coroutine is destroyed leaves the queue. A permit that was already
/// assigned to it passes to the next waiter.
///
/// @par Threads
/// All members may be called from any thread. Copies share one limit; permits keep it alive.
class limiter {
  struct state;

public:
  /// A permit to use the resource. The destructor returns it, on any thread.
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
    /// Returns the permit; the object becomes empty.
    void release() noexcept;
    /// Whether the object holds a permit.
    [[nodiscard]] explicit operator bool() const noexcept { return from_ != nullptr; }

  private:
    friend class limiter;
    explicit permit(std::shared_ptr<state> from) noexcept : from_{std::move(from)} {}
    std::shared_ptr<state> from_;
  };

  /// @param limit maximum number of permits in use; 0: no limit
  explicit limiter(std::size_t limit);

  /// Waits for a permit, in the order of arrival.
  [[nodiscard]] task<permit> acquire() const;
  /// Returns a permit without waiting, or nothing if none is free or others are waiting.
  [[nodiscard]] std::optional<permit> try_acquire() const;

  /// Changes the limit. A higher limit admits waiters at once. A lower limit takes effect as
  /// permits are returned.
  void set_limit(std::size_t limit) const;
  /// The current limit; 0: no limit.
  [[nodiscard]] std::size_t limit() const;
  /// The number of permits in use.
  [[nodiscard]] std::size_t in_flight() const;
  /// The largest value of in_flight() so far.
  [[nodiscard]] std::size_t in_flight_max() const;
  /// The number of coroutines that wait for a permit.
  [[nodiscard]] std::size_t waiting() const;

private:
  static std::optional<permit> enter(const std::shared_ptr<state>& in);
  static task<permit> wait_in_line(std::shared_ptr<state> in);
  static void let_in(const std::shared_ptr<state>& in);
  std::shared_ptr<state> state_;
};

/// The limits of a model provider for one API key, per minute; 0: no limit.
struct rate_limits {
  std::int64_t requests_per_minute = 0;
  std::int64_t tokens_per_minute = 0;
  /// The time whose share of the limits may be used at once after a pause. For example, with 600
  /// requests per minute and 1 s, 10 requests; always at least one request.
  std::chrono::milliseconds burst{1'000};
};

/// A rate limiter for requests to a model provider. It has two token buckets, for requests and for
/// model tokens per minute, and a pause, which a response "too many requests" (HTTP 429) sets.
///
/// An estimate of the model tokens is reserved before a request and corrected when the true number
/// is known. The correction may make a bucket negative. Later requests then wait until it has
/// refilled.
///
/// @par Threads
/// All members may be called from any thread. Copies share one state.
/// @par Time
/// Times are monotonic. They come from the waiting coroutine's executor or from the parameter
/// `now`, so that tests can simulate time.
class rate_limiter {
  struct state;

public:
  using time_point = executor::time_point;

  /// Creates a limiter whose buckets are full.
  explicit rate_limiter(rate_limits limits);

  /// Waits until a request with this number of tokens may be sent, and reserves it. Waiting
  /// requests are served in the order of arrival.
  [[nodiscard]] task<void> reserve(std::int64_t tokens) const;
  /// Reserves a request without waiting. Returns `now` if it may be sent; otherwise reserves
  /// nothing and returns the time at which to try again.
  [[nodiscard]] time_point try_reserve(std::int64_t tokens, time_point now) const;
  /// Corrects a reservation after the request has used `used` tokens.
  void settle(std::int64_t reserved, std::int64_t used) const;
  /// Pauses all requests until a point in time. Of several pauses the longest applies.
  void pause_until(time_point until) const;
  /// The end of the current pause, or a past time if there is none.
  [[nodiscard]] time_point paused_until() const;

private:
  static task<void> wait_for_turn(std::shared_ptr<state> in, std::int64_t tokens);
  std::shared_ptr<state> state_;
};

} // namespace superstep

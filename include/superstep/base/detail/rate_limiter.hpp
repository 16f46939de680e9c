// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/detail/executor.hpp>
#include <superstep/base/detail/limit_source.hpp>
#include <superstep/base/task.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

namespace superstep {

/// The limits of a model provider for one API key, per minute; 0: no limit.
struct rate_limits {
  std::int64_t requests_per_minute = 0;
  std::int64_t tokens_per_minute = 0;
  /// The time whose share of the limits may be used at once after a pause. For example, with 600
  /// requests per minute and 1 s, 10 requests; always at least one request.
  std::chrono::milliseconds burst{1'000};
  /// The length of the minute; tests make it shorter.
  std::chrono::milliseconds window{60'000};
};

/// A limit that a server reports in the headers of an answer.
struct server_rate {
  std::int64_t limit = 0;           ///< per period
  std::int64_t remaining = 0;       ///< after the answered request
  std::chrono::nanoseconds reset{}; ///< the time until nothing is used any more
};

/// A rate limiter for requests to a model provider: for requests and for model tokens per minute,
/// and a pause, which a response "too many requests" (HTTP 429) sets.
///
/// In any 60 seconds, no more than the limit is admitted. The requests of the last 61 seconds
/// count; the additional second allows for different delays on the way to the server. A token
/// bucket spreads the requests over the minute. Under constant load, more than 95 % of the limit is
/// used.
///
/// An estimate of the model tokens is reserved before a request and corrected when the true number
/// is known. A correction may exceed the limit. Later requests then wait.
///
/// Limits that a server reports for a minute also apply if they are lower than the configured ones,
/// and if none are configured. Requests of other processes, as far as the server counts them,
/// reduce what is left.
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
  /// Returns the estimated tokens of a request.
  using estimator = std::function<std::int64_t()>;
  /// A reservation for one request.
  struct reservation {
    time_point at{};         ///< for settle() and cancel()
    std::int64_t tokens = 0; ///< the reserved tokens
  };

  /// Creates a limiter of which nothing is used yet.
  explicit rate_limiter(rate_limits limits);
  /// Creates a limiter that also asks `shared` for each request; nullptr for none.
  rate_limiter(rate_limits limits, std::shared_ptr<limit_source> shared);

  /// Waits until a request with this number of tokens may be sent, and reserves it. Waiting
  /// requests are served in the order of arrival.
  /// @return the time of the reservation, for settle()
  [[nodiscard]] task<time_point> reserve(std::int64_t tokens) const;
  /// Waits like the other overload, for a request whose estimate improves while it waits.
  /// @param tokens called when the request is the first of the queue, and again after each settle()
  /// or cancel() until the request may be sent
  [[nodiscard]] task<reservation> reserve(estimator tokens) const;
  /// Reserves a request without waiting. Returns `now` if it may be sent; otherwise reserves
  /// nothing and returns the time at which to try again.
  [[nodiscard]] time_point try_reserve(std::int64_t tokens, time_point now) const;
  /// Corrects a reservation after the request has used `used` tokens. Wakes the first waiting
  /// request, which may be sent earlier now.
  /// @param reserved_at the time that reserve() returned
  void settle(time_point reserved_at, std::int64_t reserved, std::int64_t used) const;
  /// Removes a reservation whose request was not sent. Wakes the first waiting request.
  /// @param reserved_at the time that reserve() returned
  void cancel(time_point reserved_at, std::int64_t reserved) const;
  /// Pauses all requests until a point in time. Of several pauses the longest applies.
  void pause_until(time_point until) const;
  /// The end of the current pause, or a past time if there is none.
  [[nodiscard]] time_point paused_until() const;
  /// Reports limits from the headers of an answer. Limits for other periods than a minute are
  /// ignored.
  /// @param sent when the answered request was sent
  void observe(std::optional<server_rate> requests, std::optional<server_rate> tokens,
               time_point sent, time_point now) const;
  /// Whether a reported limit is one per minute, so that observe() applies it. A limit of which
  /// nothing is used, or that is reported without its reset, is not recognised.
  [[nodiscard]] bool is_per_minute(const server_rate& seen) const;
  /// Lowers limits to those given; 0: unchanged.
  void restrict_to(const rate_limits& limits) const;
  /// Whether there is any limit.
  [[nodiscard]] bool has_limit() const;
  /// Whether there is a limit of tokens.
  [[nodiscard]] bool limits_tokens() const;

  /// A reference that does not keep the limiter's state alive.
  class weak {
  public:
    weak() = default;
    /// Returns the limiter; nullopt if no other copy exists.
    [[nodiscard]] std::optional<rate_limiter> lock() const;

  private:
    friend class rate_limiter;
    std::weak_ptr<state> state_;
  };
  [[nodiscard]] weak reference() const;

private:
  explicit rate_limiter(std::shared_ptr<state> s) : state_{std::move(s)} {}
  static task<reservation> wait_for_turn(std::shared_ptr<state> in, estimator tokens);
  static task<void> wake_first_at(std::shared_ptr<state> in, time_point when);
  std::shared_ptr<state> state_;
};

} // namespace superstep

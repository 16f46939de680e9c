// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/byte_budget.hpp>
#include <superstep/base/limiter.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

namespace superstep {

namespace models {
class concurrency_control;
}

/// Options of model_limits: bounds on the use of one provider and key. 0 = no limit.
struct model_limits_options {
  std::size_t model_calls = 256; ///< calls in flight
  std::int64_t requests_per_minute = 0;
  std::int64_t tokens_per_minute = 0; ///< input and output together
  /// Bytes of answers that are being received, beyond the first 64 KiB of each. When they are used
  /// up, further answers are not read from their connections until others are complete.
  std::size_t answer_bytes = 64 * 1024 * 1024;
  bool is_adaptive = true;         ///< reduces the calls in flight while the provider is overloaded
  std::size_t model_calls_min = 1; ///< lower bound of that reduction
};

/// The limits that all calls to one provider and key share: calls in flight, requests and tokens
/// per minute, and a time before which no request is sent.
///
/// The number of calls in flight adapts to the provider's capacity. Once calls are refused (HTTP
/// 429, 503, 529), it follows the measured number of calls that the provider accepts at once,
/// between `model_calls_min` and `model_calls`. Refusals that do not depend on the load do not
/// change it. Without a configured number it starts at the number in flight at the first refusal.
///
/// @par Threads
/// All members may be called by any thread.
/// @par Lifetime
/// Must outlive the models that use it.
class model_limits {
public:
  using time_point = rate_limiter::time_point;

  explicit model_limits(model_limits_options options);
  model_limits(const model_limits&) = delete;
  model_limits& operator=(const model_limits&) = delete;
  ~model_limits();

  /// Limits the calls in flight.
  [[nodiscard]] const limiter& calls() const noexcept { return calls_; }
  /// Limits requests and tokens per minute.
  [[nodiscard]] const rate_limiter& rate() const noexcept { return rate_; }
  /// Limits the bytes of answers that are being received.
  [[nodiscard]] const byte_budget& answers() const noexcept { return answers_; }

  /// Reports a successful call. To be called while it still counts as in flight.
  void answered(time_point now);
  /// Reports a call that the provider refused because it is overloaded or its limits are used up.
  /// To be called while it still counts as in flight.
  ///
  /// A refusal among successful calls only delays its own call. If all of the latest calls were
  /// refused, no request is sent before `until`.
  /// @param sent when the request was sent
  /// @param until the earliest time for another attempt, if the provider specified it
  void overloaded(time_point sent, time_point now, std::optional<time_point> until = {});
  /// Pauses all calls until `until`: the provider reported that no requests or tokens remain.
  void pause_until(time_point until);

private:
  const model_limits_options options_;
  limiter calls_;
  rate_limiter rate_;
  byte_budget answers_;
  std::atomic<bool> was_refused_{false}; ///< until then answers take no lock
  std::mutex mutex_;
  std::unique_ptr<models::concurrency_control> control_; ///< guarded by mutex_
};

} // namespace superstep

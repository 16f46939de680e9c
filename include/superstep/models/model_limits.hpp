// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/limiter.hpp>

#include <cstddef>
#include <cstdint>
#include <mutex>

namespace superstep {

/// Bounds on the use of one provider and key. 0 = no limit.
struct model_limits_options {
  std::size_t model_calls = 256; ///< calls in flight
  std::int64_t requests_per_minute = 0;
  std::int64_t tokens_per_minute = 0; ///< input and output together
  bool is_adaptive = true;         ///< lower the calls in flight while the provider is overloaded
  std::size_t model_calls_min = 1; ///< never lower than this
};

/// What all calls to one provider and key share: calls in flight, requests and tokens per minute,
/// and the time before which nothing may go out.
///
/// The number in flight follows AIMD: an overload (429, 503, 529) halves it, at most once per call
/// that had already been under way; as many good answers as it is large raise it by one, up to
/// `model_calls`. A provider without a configured number starts adaptive control at its first
/// overload.
///
/// @par Threads
/// Every member from any thread. Outlives the models that use it.
class model_limits {
public:
  using time_point = rate_limiter::time_point;

  explicit model_limits(model_limits_options options);
  model_limits(const model_limits&) = delete;
  model_limits& operator=(const model_limits&) = delete;

  [[nodiscard]] const limiter& calls() const noexcept { return calls_; }
  [[nodiscard]] const rate_limiter& rate() const noexcept { return rate_; }

  /// A call was answered well.
  void answered();
  /// A call that went out at `sent` was told that the provider is overloaded.
  void overloaded(time_point sent, time_point now);

private:
  const model_limits_options options_;
  limiter calls_;
  rate_limiter rate_;
  std::mutex mutex_;
  std::size_t good_since_change_ = 0; // guarded by mutex_, as is the next
  time_point lowered_{};
};

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/detail/executor.hpp>

#include <cstdint>
#include <functional>

namespace superstep {

/// A limit that several processes share. A rate_limiter asks it for each request, after its own
/// limits. All members may be called from any thread.
class limit_source {
public:
  using time_point = executor::time_point;

  virtual ~limit_source() = default;
  /// Takes a request with this number of tokens. Returns `now` if it may be sent; otherwise takes
  /// nothing and returns the time at which to try again, unless the source reports grants earlier.
  [[nodiscard]] virtual time_point take(std::int64_t tokens, time_point now) = 0;
  /// Gives back requests and tokens that were taken and not used. Negative if more were used.
  virtual void give_back(std::int64_t requests, std::int64_t tokens) = 0;
  /// Sets a function that is called, on any thread, when more may be taken. An empty function
  /// removes it; no earlier one runs any more when this function returns.
  virtual void on_grant(std::function<void()> call) = 0;
};

} // namespace superstep

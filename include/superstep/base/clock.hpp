// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace superstep {

/// A source of wall-clock time. Injected wherever time can reach a state, an id or an event, so
/// that tests are reproducible. Waiting uses executor::now() instead, which is monotonic.
class clock {
public:
  virtual ~clock() = default;
  /// Returns the current time. May be called from any thread.
  [[nodiscard]] virtual std::chrono::system_clock::time_point now() const = 0;
};

/// Returns the system's clock; it lives until the program ends.
[[nodiscard]] const clock& system_clock() noexcept;

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace superstep {

/// Wall-clock time, injected wherever it can reach a state, an id or an event.
/// Waiting uses execution::now(), which is monotonic.
class clock {
public:
  virtual ~clock() = default;
  [[nodiscard]] virtual std::chrono::system_clock::time_point now() const = 0;
};

/// The clock of the machine. Stateless; shared by everybody.
[[nodiscard]] const clock& system_clock() noexcept;

} // namespace superstep

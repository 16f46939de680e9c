// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace superstep::bench {

/// Returns h, the unit for costs of the engine: the CPU nanoseconds per message between two
/// event-based actors on one worker. The result is the minimum of `repetitions` measurements.
[[nodiscard]] double hop_ns(std::size_t repetitions);

} // namespace superstep::bench

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace superstep::bench {

/// Returns h, the unit for costs of the engine: CPU nanoseconds per message of two event-based
/// actors that play ping-pong on one worker. The minimum of `repetitions`.
[[nodiscard]] double hop_ns(std::size_t repetitions);

} // namespace superstep::bench

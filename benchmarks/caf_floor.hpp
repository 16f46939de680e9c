// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace superstep::bench {

/// CPU nanoseconds per message of two event-based actors that play ping-pong on one worker: h, the
/// measure that costs of the engine are given in. The least of `repetitions`.
[[nodiscard]] double hop_ns(std::size_t repetitions);

} // namespace superstep::bench

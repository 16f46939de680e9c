// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/runtime/node_options.hpp>

#include <cstdint>
#include <exception>
#include <vector>

namespace superstep {

/// Returns the policy for a failure: the first whose predicate matches. Returns null if no
/// predicate matches, or if `attempt` has reached that policy's max_attempts. Throws what a
/// predicate throws. The pointer is valid as long as the list of policies.
/// @param attempt number of the attempt that failed, from 1; all attempts of the task count,
/// whichever policy allowed them
[[nodiscard]] const retry_policy* find_policy(const std::vector<retry_policy>&,
                                              const std::exception_ptr&, std::uint32_t attempt);

} // namespace superstep

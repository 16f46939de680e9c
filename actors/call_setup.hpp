// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coordinator_host.hpp"

#include <cstdint>
#include <optional>

namespace superstep {

/// Fills a call record for a task of a run. `clock` is used only for calls with a timeout.
/// @pre nothing of an earlier body is left in the record
void fill_call(run& r, call& c, std::uint32_t number, const coordinator_host& clock);

/// Returns the time at which a timeout of a call can pass first. @pre the call has a timeout
[[nodiscard]] run::time_point first_limit(const run& r, const call& c);

/// The result of check_limits().
struct limit_check {
  run::time_point due;             ///< when to check again, if no timeout has passed
  std::optional<run_error> passed; ///< set if a timeout has passed
};

/// Checks whether a timeout of a call has passed at `time`.
[[nodiscard]] limit_check check_limits(run& r, const call& c, run::time_point time);

} // namespace superstep

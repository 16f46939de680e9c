// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/batch/detail/stop_rules.hpp>

#include <cstdint>
#include <optional>

namespace superstep::detail {

/// The rows of one run of a job that have ended, and what they have used. A row that runs again
/// counts each time.
struct row_expenses {
  std::uint64_t rows = 0;   ///< rows that have ended
  std::uint64_t failed = 0; ///< failed rows among them
  std::int64_t cost = 0;    ///< known costs in billionths of a US dollar
  std::int64_t tokens = 0;  ///< input and output
  /// rows with a call whose tokens the model's server did not report
  std::uint64_t unmeasured = 0;
};

/// Decides whether the numbers of a job demand that it stops.
/// @param run the rows of this run
/// @param before the rows of earlier runs, of which only cost and tokens are used
[[nodiscard]] std::optional<job_stop> decide_stop(const stop_rules& rules, const row_expenses& run,
                                                  const row_expenses& before);

} // namespace superstep::detail

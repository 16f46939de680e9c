// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "postgres/granted_limits.hpp"

#include <cstdint>
#include <string>

namespace superstep::testing {

/// Processes that share limits per minute, in virtual time. One seed decides everything. Times are
/// in seconds.
struct limit_fleet {
  std::uint64_t seed = 1;
  std::uint32_t processes = 20;
  std::uint32_t calm = 0; ///< of these, those that send at `calm_rate`; the others always wait
  double calm_rate = 1;   ///< requests per second of a calm process
  detail::limit_amounts quota{6'000, 600'000};
  std::int64_t tokens = 100; ///< of a request, on average
  double length = 300;
  double travel_max = 1; ///< a request takes at most this time to the server that has the limits
  double network = 0.01; ///< from a process to the database, on average
  double statement_cost = 0.00025; ///< the database handles one statement at a time
  // --- faults; 0: none ---
  double kill_every = 0;   ///< mean time until a process is killed; another starts 2 s later
  double absent_every = 0; ///< mean time between crashes of the database
  double absent_for = 10;  ///< time until it has started again
  double lost_share = 0;   ///< share of statements whose answer is lost
};

struct limit_outcome {
  std::string fault;      ///< the violated invariant; empty: none
  double used = 0;        ///< share of the limit that was used after the first minute
  double least = 1;       ///< the requests of the process with the fewest, as a share of the mean
  double most = 1;        ///< the same of the process with the most; both of busy processes
  double calm_served = 1; ///< share of the requests of calm processes that were sent
  double present = 1;     ///< share of the time after the first minute with the database
  std::int64_t in_absence = 0; ///< requests sent while the database was away for over 2 s
};

[[nodiscard]] limit_outcome simulate(const limit_fleet& fleet);
[[nodiscard]] std::string to_text(const limit_fleet& fleet, const limit_outcome& outcome);

} // namespace superstep::testing

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "unit/actors/simulator/scenario.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace superstep::simulation {

/// The end of a run of a scenario.
struct run_end {
  bool has_finished = false;
  bool is_interrupted = false;
  std::string state; ///< of a finished run
  std::string error; ///< of a failed run
};

/// The result of a schedule.
struct verdict {
  std::string broken; ///< the first rule that was broken; empty if none
  std::vector<run_end> ends;
  std::uint64_t order = 0; ///< a hash of the order of events
  std::uint64_t events = 0;
};

/// Runs a scenario without disturbances, in the simplest order.
[[nodiscard]] verdict run_calmly(scenario s);
/// Runs a scenario and checks all rules. Its finished runs must end as in `expected`.
[[nodiscard]] verdict run_schedule(const scenario& s, const verdict& expected);
/// Runs a scenario calmly, and then with its disturbances and with a deliberate fault.
[[nodiscard]] verdict check(const scenario& s, mutant fault = mutant::none);

} // namespace superstep::simulation

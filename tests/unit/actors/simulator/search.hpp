// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "unit/actors/simulator/scenario.hpp"

#include <cstdint>
#include <functional>
#include <string>

namespace superstep::simulation {

/// The result of many schedules.
struct search_result {
  bool has_found = false;      ///< a rule was broken, an assertion failed or the process crashed
  std::uint64_t seed = 0;      ///< the seed that broke it
  std::string broken;          ///< the rule
  std::uint64_t schedules = 0; ///< number of schedules that have run
  std::uint64_t orders = 0;    ///< number of distinct orders of events
  std::uint64_t events = 0;
  std::uint64_t finished = 0; ///< runs that finished, failed, or were interrupted
  std::uint64_t failed = 0;
  std::uint64_t interrupted = 0;
  transition_counts transitions{}; ///< also those of the undisturbed runs
};

/// Runs the schedules of `count` seeds in a child process, until one breaks a rule.
[[nodiscard]] search_result search(std::uint64_t first, std::uint64_t count,
                                   mutant fault = mutant::none);

/// Runs one scenario in a child process. Returns the rule that it breaks; empty if none.
[[nodiscard]] std::string broken_by(const scenario& s, mutant fault = mutant::none);

/// Removes what is not needed to break a rule: disturbances, runs, nodes and operations.
[[nodiscard]] scenario minimise(scenario s, mutant fault = mutant::none);

/// Returns the text of a failed search: the rule, the seed and the smallest scenario that was
/// found.
[[nodiscard]] std::string report(const search_result& found, mutant fault = mutant::none);

} // namespace superstep::simulation

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/lane.hpp"

#include <string>
#include <vector>

namespace superstep {

/// Reads the private data of lanes and their coordinators, to check the rules that hold between two
/// events.
class lane_inspector {
public:
  /// Checks the records, lists and timers of a lane whose thread sleeps. Returns the first broken
  /// rule; empty if all hold.
  [[nodiscard]] static std::string check(lane& l);
  /// Checks that nothing is left of the runs of a lane. All its runs must have ended.
  [[nodiscard]] static std::string check_empty(lane& l);
  /// Returns the actors of a run, the coordinator first; empty if the run has ended.
  [[nodiscard]] static std::vector<pooled_actor_ptr> actors_of(lane& l, const std::string& run_id);

private:
  [[nodiscard]] static std::string check_run(const run& r);
  [[nodiscard]] static std::string check_calls(const lane& l);
  [[nodiscard]] static std::string check_timers(const lane& l);
};

} // namespace superstep

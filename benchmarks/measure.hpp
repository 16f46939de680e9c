// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

namespace superstep::bench {

/// Returns monotonic wall time in seconds.
[[nodiscard]] double wall_seconds() noexcept;
/// Returns user and system time of this process in seconds.
[[nodiscard]] double cpu_seconds() noexcept;
[[nodiscard]] double thread_cpu_seconds() noexcept; ///< of the calling thread
/// Return the current and the maximum resident memory in bytes.
[[nodiscard]] std::size_t resident_bytes();
[[nodiscard]] std::size_t peak_resident_bytes();

/// Times of the repetitions of a workload.
struct timing {
  double seconds = std::numeric_limits<double>::infinity(); ///< wall time of the best repetition
  double cpu = 0;                                           ///< CPU time of that repetition
  double cpu_min = std::numeric_limits<double>::infinity(); ///< minimum CPU time of all repetitions

  void add(double wall, double cpu_time) noexcept {
    cpu_min = std::min(cpu_min, cpu_time);
    if (wall < seconds) {
      seconds = wall;
      cpu = cpu_time;
    }
  }
};

/// Calls `once` `repetitions` times and measures each call. Results are destroyed outside of the
/// measured time.
template <class F>
timing measure(std::size_t repetitions, F&& once) {
  auto out = timing{};
  for (auto i = std::size_t{0}; i < repetitions; ++i) {
    const auto cpu = cpu_seconds();
    const auto wall = wall_seconds();
    [[maybe_unused]] const auto kept = once();
    const auto wall_end = wall_seconds();
    out.add(wall_end - wall, cpu_seconds() - cpu);
  }
  return out;
}

/// Result of one workload: the members of the JSON line that are specific to it.
struct report {
  std::string unit;
  double units = 1;
  timing time{};
  json::object checks{};
  json::object extra{}; ///< additional figures besides `checks`
};

/// Throws std::runtime_error if a result is wrong, because its time would be meaningless.
void expect(bool right, const std::string& what);

} // namespace superstep::bench

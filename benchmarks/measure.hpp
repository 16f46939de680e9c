// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

namespace superstep::bench {

/// Returns the wall time in seconds, from a monotonic clock.
[[nodiscard]] double wall_seconds() noexcept;
/// Returns the CPU time of this process in seconds, user and system time together.
[[nodiscard]] double cpu_seconds() noexcept;
[[nodiscard]] double thread_cpu_seconds() noexcept; ///< CPU time of the calling thread
/// Returns the resident memory in bytes.
[[nodiscard]] std::size_t resident_bytes();
/// Returns the memory in bytes that malloc has given out, with its overhead.
[[nodiscard]] std::size_t allocated_bytes();
/// Returns the maximum resident memory since the process started, in bytes.
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

/// Calls `once` `repetitions` times and measures each call. The destruction of a result is not
/// measured.
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

/// The result of a workload: the members of the JSON line that depend on the workload.
struct report {
  std::string unit;
  double units = 1;
  timing time{};
  json::object checks{};
  json::object extra{}; ///< figures of this workload besides the common ones
};

/// Throws std::runtime_error if `right` is false: the time of a wrong result is meaningless.
void expect(bool right, const std::string& what);

} // namespace superstep::bench

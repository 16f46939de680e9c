// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "postgres/granted_limits.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <limits>
#include <map>
#include <string>

namespace superstep::testing {

/// The database function superstep.grant_limits() in memory, for one limit. It calculates in the
/// same order as the function in postgres/limit_functions.cpp, so both give the same answers.
class model_grants {
public:
  using amounts = detail::limit_amounts;
  /// The time since any start; it never decreases.
  using time = std::chrono::microseconds;

  /// Grants a process what it may use.
  amounts grant(const std::string& member, const amounts& quota, const detail::limit_request& asked,
                time now);
  /// Lets the server crash and start again.
  void restart(time now) noexcept {
    at_ = now;
    level_ = {};
  }

private:
  static constexpr auto never = time::max();
  static constexpr auto none = std::numeric_limits<double>::infinity();

  struct process {
    time seen{};
    amounts quota{};
    amounts want{};
    amounts need{};
    std::array<double, 2> credit{};
    std::array<time, 2> ready{never, never}; ///< since when the credit covers the need
  };
  /// The values of one kind of limit that depend on all processes.
  struct summary {
    double quota = 0; ///< 0: no process has this limit
    double need = 0;
    double share = none; ///< of a process that wants more; infinite if none does
    double reserved = 0; ///< the needs of all processes whose credit covers them
    time last = never;   ///< the bucket suffices for those that are ready until this time
  };

  void summarize(time now);
  [[nodiscard]] double share(std::size_t d, double rate) const;

  bool is_new_ = true;
  time at_{};
  std::array<double, 2> level_{};
  std::array<summary, 2> summary_{};
  std::size_t count_ = 0; ///< of processes at the time of the summary
  time summarized_{};
  std::map<std::string, process> processes_;
};

} // namespace superstep::testing

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "postgres/granted_limits.hpp"

#include <array>
#include <chrono>
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
  struct process {
    time seen{};
    amounts quota{};
    amounts want{};
    amounts need{};
    std::array<double, 2> credit{};
  };
  [[nodiscard]] double share(std::size_t d, double rate) const;
  [[nodiscard]] double ahead_of(const process& own, std::size_t d, double credit) const;

  bool is_new_ = true;
  time at_{};
  std::array<double, 2> level_{};
  std::map<std::string, process> processes_;
};

} // namespace superstep::testing

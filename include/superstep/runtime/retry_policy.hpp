// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <vector>

namespace superstep {

/// When an activation that failed is tried again. Each attempt starts from the same state and with
/// no writes; nothing of a failed one is kept.
struct retry_policy {
  std::uint32_t max_attempts = 3; ///< the first one included
  std::chrono::milliseconds initial_interval{500};
  double backoff_factor = 2.0; ///< each wait is so many times the one before
  std::chrono::milliseconds max_interval{128'000};
  bool jitter = true; ///< adds up to a second, so that many runs do not come back at once
  /// Whether this failure is worth another attempt; empty: is_worth_a_retry().
  std::function<bool(const std::exception_ptr&)> retry_on;
};

/// The default of the reference in the terms of this language: everything but what the same input
/// must give again: std::logic_error (invalid_argument, out_of_range, …), bad_cast, graph_error,
/// and errors of the operating system other than those of a connection.
[[nodiscard]] bool is_worth_a_retry(const std::exception_ptr&);

/// How long to wait before the attempt that follows `attempt`. With jitter a random number decides
/// how much of a second is added.
[[nodiscard]] std::chrono::milliseconds wait_after(const retry_policy&, std::uint32_t attempt,
                                                   std::uint64_t random);

/// The policy that decides about a failure: the first whose predicate holds. Null: none does, or no
/// attempt is left; attempts count across policies.
[[nodiscard]] const retry_policy* find_policy(const std::vector<retry_policy>&,
                                              const std::exception_ptr&, std::uint32_t attempt);

} // namespace superstep

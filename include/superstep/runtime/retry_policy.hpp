// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <vector>

namespace superstep {

/// A policy for retrying failed activations (`RetryPolicy` in langgraph/types.py). Each attempt
/// starts from the same state and without writes; the output of a failed attempt is discarded.
struct retry_policy {
  std::uint32_t max_attempts = 3; ///< including the first one
  std::chrono::milliseconds initial_interval{500};
  double backoff_factor = 2.0; ///< factor from each wait to the next
  std::chrono::milliseconds max_interval{128'000};
  bool jitter = true; ///< adds up to a second, so that many runs do not retry at once
  /// Whether a failure is retried; empty: is_worth_a_retry().
  std::function<bool(const std::exception_ptr&)> retry_on;
};

/// Whether a failure is retried by default. The C++ equivalent of LangGraph's default_retry_on
/// (langgraph/_internal/_retry.py): retries everything except failures that the same input would
/// repeat. Those are std::logic_error (invalid_argument, out_of_range, …), bad_cast, graph_error,
/// and system errors other than those of a connection.
[[nodiscard]] bool is_worth_a_retry(const std::exception_ptr&);

/// Returns the wait before the attempt that follows `attempt`. With jitter, `random` determines how
/// much of a second is added.
[[nodiscard]] std::chrono::milliseconds wait_after(const retry_policy&, std::uint32_t attempt,
                                                   std::uint64_t random);

/// Returns the policy for a failure: the first whose predicate matches. Null if none matches, or if
/// no attempt is left. Attempts count across policies.
[[nodiscard]] const retry_policy* find_policy(const std::vector<retry_policy>&,
                                              const std::exception_ptr&, std::uint32_t attempt);

} // namespace superstep

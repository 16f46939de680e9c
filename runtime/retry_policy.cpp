// SPDX-License-Identifier: Apache-2.0
// Decides whether a failed attempt of a node is repeated, and how long to wait before the next
// attempt. The rules are those of langgraph/_internal/_retry.py (LangGraph 1.2.22).
// actors/task_policy.cpp schedules the attempts.
#include "retry_policy.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <system_error>
#include <typeinfo>

namespace superstep {

namespace {

/// A hundred years in milliseconds. Adding it to a point in time does not overflow.
constexpr auto wait_max = 3.2e12;

/// Whether a system error may be temporary: a connection may work in the next attempt, but a
/// missing file or a full disk will not. Codes of other categories count as temporary, except
/// errc::invalid_argument.
bool is_worth_a_retry(const std::error_code& code) {
  using enum std::errc;
  for (const auto transient : {connection_refused, connection_reset, connection_aborted,
                               broken_pipe, host_unreachable, network_unreachable, network_down})
    if (code == transient)
      return true;
  return code.category() != std::generic_category() && code.category() != std::system_category() &&
         code != errc::invalid_argument;
}

} // namespace

bool is_worth_a_retry(const std::exception_ptr& cause) {
  if (!cause)
    return false; // no exception: the node's actor was killed, which is always on purpose
  try {
    std::rethrow_exception(cause);
  } catch (const node_timeout_error&) {
    return true;
  } catch (const graph_error&) {
    return false;
  } catch (const std::system_error& e) {
    return is_worth_a_retry(e.code());
  } catch (const std::logic_error&) {
    return false;
  } catch (const std::bad_cast&) {
    return false;
  } catch (...) {
    return true;
  }
}

std::chrono::milliseconds wait_after(const retry_policy& policy, std::uint32_t attempt,
                                     std::uint64_t random) {
  const auto first = static_cast<double>(policy.initial_interval.count());
  const auto longest = std::clamp(static_cast<double>(policy.max_interval.count()), 0.0, wait_max);
  const auto grown = first * std::pow(policy.backoff_factor, static_cast<double>(attempt) - 1);
  const auto wait = grown < longest ? std::max(grown, 0.0) : longest; // a NaN is not less
  const auto jitter = policy.jitter ? static_cast<std::int64_t>(random % 1'000) : 0;
  return std::chrono::milliseconds{static_cast<std::int64_t>(wait) + jitter};
}

const retry_policy* find_policy(const std::vector<retry_policy>& policies,
                                const std::exception_ptr& cause, std::uint32_t attempt) {
  for (const auto& p : policies)
    if (p.retry_on ? cause && p.retry_on(cause) : is_worth_a_retry(cause))
      return attempt < p.max_attempts ? &p : nullptr;
  return nullptr;
}

} // namespace superstep

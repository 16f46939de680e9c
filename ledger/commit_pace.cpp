// SPDX-License-Identifier: Apache-2.0
// The measurements that decide when a worker commits and how many rows it leases.
#include "commit_pace.hpp"

namespace superstep::detail {

namespace {

/// Share of the time between two commits of all workers that the server spends with one commit. A
/// commit whose duration is d makes each of n workers wait for 2 * n * d until its next one, so
/// that commits take at most half of the time of a server that handles one at a time.
constexpr auto load_factor = 2.0;
constexpr auto newest_weight = 0.2; ///< of a measurement in a smoothed value

void smooth(double& into, double measured) noexcept {
  into = into == 0 ? measured : into + newest_weight * (measured - into);
}

} // namespace

std::chrono::nanoseconds commit_pace::interval(std::uint32_t members) const noexcept {
  return std::chrono::nanoseconds{
      static_cast<std::int64_t>(load_factor * latency_ * static_cast<double>(members))};
}

void commit_pace::add(ledger_time begun, ledger_time ended, std::size_t rows) noexcept {
  SUPERSTEP_ASSERT(begun <= ended);
  smooth(latency_, static_cast<double>((ended - begun).count()));
  if (rows == 0)
    return;
  const auto since = std::chrono::duration<double>(ended - last_).count();
  if (last_.count() > 0 && since > 0)
    smooth(rate_, static_cast<double>(rows) / since);
  last_ = ended;
}

} // namespace superstep::detail

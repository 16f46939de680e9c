// SPDX-License-Identifier: Apache-2.0
// The shared limits without a database: a bucket, and max-min fair shares of its rate.
#include "model_grants.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace superstep::testing {

namespace {

constexpr auto none = std::numeric_limits<double>::infinity();
/// A process that has not asked for this time is forgotten.
constexpr auto silence_max = std::chrono::seconds{3};

double seconds(model_grants::time length) {
  return static_cast<double>(length.count()) / 1e6;
}

} // namespace

/// Returns what each process may use that wants more than its share; `none` if no process does.
double model_grants::share(std::size_t d, double rate) const {
  auto wants = std::vector<std::int64_t>{};
  wants.reserve(processes_.size());
  for (const auto& [name, each] : processes_)
    wants.push_back(each.want[d]);
  std::ranges::sort(wants);
  auto out = none;
  auto before = std::int64_t{0};
  for (auto i = std::size_t{0}; i < wants.size(); ++i) {
    const auto equal = (rate - static_cast<double>(before)) / static_cast<double>(wants.size() - i);
    if (static_cast<double>(wants[i]) > equal)
      out = out == none ? equal : std::max(out, equal);
    before += wants[i];
  }
  return out;
}

/// Returns the credit of the processes that come before this one.
double model_grants::ahead_of(const process& own, std::size_t d, double credit) const {
  auto out = 0.0;
  for (const auto& [name, each] : processes_)
    if (&each != &own && each.need[d] > 0 && each.credit[d] > std::max(credit, 0.0))
      out += each.credit[d];
  return out;
}

model_grants::amounts model_grants::grant(const std::string& member, const amounts& quota,
                                          const detail::limit_request& asked, time now) {
  if (std::exchange(is_new_, false))
    at_ = now;
  const auto since = seconds(now - at_);
  const auto found = processes_.find(member);
  const auto is_known = found != processes_.end();
  const auto before = is_known ? found->second : process{};
  const auto own_time = is_known ? std::min(seconds(now - before.seen), 1.0) : 0.5;
  std::erase_if(processes_, [&](const auto& each) { return each.second.seen < now - silence_max; });
  auto& own = processes_[member];
  own = {.seen = now, .quota = quota, .want = asked.want, .need = asked.need, .credit = {}};
  auto out = amounts{};
  for (auto d = std::size_t{0}; d < out.size(); ++d) {
    auto least = none;
    auto need = 0.0;
    for (const auto& [name, each] : processes_)
      if (each.quota[d] > 0) {
        least = std::min(least, static_cast<double>(each.quota[d]));
        need = std::max(need, static_cast<double>(each.need[d]));
      }
    if (least == none)
      continue;
    const auto burst = std::max(least / 120, need);
    const auto rate = (least - burst) / 62;
    level_[d] = std::min(burst, level_[d] + rate * since + static_cast<double>(asked.back[d]));
    const auto want = static_cast<double>(asked.want[d]);
    const auto fair = std::min(share(d, rate), want);
    const auto old = before.credit[d];
    const auto kept = old < 0 ? old * std::pow(0.5, own_time / 4) : old;
    auto credit =
        std::min(kept + fair * own_time, std::max(fair, static_cast<double>(asked.need[d])));
    const auto left = level_[d] - ahead_of(own, d, credit);
    const auto spare = std::min(left - burst / 2, credit + fair);
    const auto granted = std::floor(std::min(std::max(credit, spare), left) + 1e-9);
    if (quota[d] > 0 && asked.want[d] > 0 && granted >= static_cast<double>(asked.need[d])) {
      out[d] = static_cast<std::int64_t>(granted);
      level_[d] -= granted;
      credit -= granted;
    }
    own.credit[d] = credit;
  }
  at_ = now;
  if (asked.want == amounts{})
    processes_.erase(member);
  return out;
}

} // namespace superstep::testing

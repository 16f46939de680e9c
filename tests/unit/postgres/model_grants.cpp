// SPDX-License-Identifier: Apache-2.0
// The shared limits without a database: a bucket, and max-min fair shares of its rate.
#include "model_grants.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace superstep::testing {

namespace {

/// A process that has not asked for this time is forgotten.
constexpr auto silence_max = std::chrono::seconds{3};
/// The summary is calculated again after this time, times the number of processes.
constexpr auto summary_pause = std::chrono::microseconds{100};

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

void model_grants::summarize(time now) {
  std::erase_if(processes_, [&](const auto& each) { return each.second.seen < now - silence_max; });
  for (auto d = std::size_t{0}; d < summary_.size(); ++d) {
    auto least = none;
    auto out = summary{};
    auto waiting = std::map<time, double>{};
    for (const auto& [name, each] : processes_) {
      if (each.quota[d] > 0) {
        least = std::min(least, static_cast<double>(each.quota[d]));
        out.need = std::max(out.need, static_cast<double>(each.need[d]));
      }
      if (each.ready[d] != never) {
        waiting[each.ready[d]] += static_cast<double>(each.need[d]);
        out.reserved += static_cast<double>(each.need[d]);
      }
    }
    out.quota = least == none ? 0 : least;
    const auto burst = std::max(out.quota / 120, out.need);
    const auto rate = (out.quota - burst) / 62;
    out.share = share(d, rate);
    out.last = never;
    auto before = 0.0;
    for (const auto& [ready, need] : waiting) {
      if (before <= level_[d])
        out.last = ready;
      before += need;
    }
    summary_[d] = out;
  }
  count_ = processes_.size();
  summarized_ = now;
}

model_grants::amounts model_grants::grant(const std::string& member, const amounts& quota,
                                          const detail::limit_request& asked, time now) {
  if (std::exchange(is_new_, false))
    at_ = now;
  const auto found = processes_.find(member);
  const auto is_known = found != processes_.end();
  const auto own_time = is_known ? std::min(seconds(now - found->second.seen), 1.0) : 0.5;
  auto& own = processes_[member];
  own.seen = now;
  own.quota = quota;
  own.want = asked.want;
  own.need = asked.need;
  for (auto d = std::size_t{0}; d < own.need.size(); ++d)
    if (own.credit[d] < static_cast<double>(own.need[d]) || own.need[d] == 0)
      own.ready[d] = never;
  auto out = amounts{};
  for (auto d = std::size_t{0}; d < out.size(); ++d) {
    const auto& all = summary_[d];
    const auto least = all.quota == 0  ? static_cast<double>(quota[d])
                       : quota[d] == 0 ? all.quota
                                       : std::min(all.quota, static_cast<double>(quota[d]));
    if (least == 0)
      continue;
    const auto need = static_cast<double>(asked.need[d]);
    const auto burst = std::max({least / 120, all.need, need});
    const auto rate = (least - burst) / 62;
    const auto content =
        std::min(burst, level_[d] + rate * seconds(now - at_) + static_cast<double>(asked.back[d]));
    const auto fair = std::min(all.share, static_cast<double>(asked.want[d]));
    const auto old = own.credit[d];
    const auto kept = old < 0 ? old * std::pow(0.5, own_time / 4) : old;
    auto credit = std::min(kept + fair * own_time, std::max(fair, need));
    const auto was_ready = own.ready[d] != never;
    const auto left = was_ready && own.ready[d] <= all.last
                          ? content
                          : content - (all.reserved - (was_ready ? need : 0));
    const auto spare = std::min(left - burst / 2, credit + fair);
    const auto granted = std::floor(std::min(std::max(credit, spare), left) + 1e-9);
    level_[d] = content;
    if (quota[d] > 0 && asked.want[d] > 0 && granted >= need) {
      out[d] = static_cast<std::int64_t>(granted);
      level_[d] -= granted;
      credit -= granted;
    }
    own.credit[d] = credit;
    if (out[d] > 0 || need == 0 || credit < need)
      own.ready[d] = never;
    else if (!was_ready)
      own.ready[d] = now;
  }
  at_ = now;
  if (asked.want == amounts{})
    processes_.erase(member);
  if (now - summarized_ >= summary_pause * count_)
    summarize(now);
  return out;
}

} // namespace superstep::testing

// SPDX-License-Identifier: Apache-2.0
// What a process may use of shared limits: a state machine without thread and connection.
#include "granted_limits.hpp"

#include <superstep/base/detail/assert.hpp>

#include <algorithm>
#include <utility>

namespace superstep::detail {

namespace {

/// The rate that a process wants while a request waits: whatever its fair share is.
constexpr auto unbounded = std::int64_t{1} << 40U;

} // namespace

granted_limits::granted_limits(const limit_amounts& quota, duration window)
    : quota_{quota}, second_{window / 60}, pause_{second_ / 4} {
  SUPERSTEP_ASSERT(quota[0] > 0 || quota[1] > 0);
}

/// The only function that changes the phase.
void granted_limits::become(phase next) {
  using enum phase;
  SUPERSTEP_ASSERT((phase_ == idle && next == active) || (phase_ == active && next == asking) ||
                   (phase_ == asking && (next == active || next == idle)));
  phase_ = next;
}

limit_amounts granted_limits::left() const noexcept {
  auto out = limit_amounts{};
  for (const auto& each : grants_)
    for (auto d = std::size_t{0}; d < out.size(); ++d)
      out[d] += each.amounts[d];
  return out;
}

void granted_limits::drop_expired(time_point now) {
  auto kept = std::ranges::find_if(grants_, [now](const grant& each) { return now < each.until; });
  for (auto at = grants_.begin(); at != kept; ++at)
    give_back(at->amounts);
  grants_.erase(grants_.begin(), kept);
}

bool granted_limits::take(std::int64_t tokens, time_point now) {
  drop_expired(now);
  const auto wanted = limit_amounts{1, tokens};
  const auto have = left();
  auto need = limit_amounts{};
  for (auto d = std::size_t{0}; d < need.size(); ++d)
    need[d] = std::min(wanted[d], std::max<std::int64_t>(quota_[d] / 2, quota_[d] > 0 ? 1 : 0));
  if (have[0] < need[0] || have[1] < need[1]) {
    need_ = need;
    needed_at_ = now;
    if (phase_ == phase::idle)
      become(phase::active);
    return false;
  }
  need_ = {};
  for (auto d = std::size_t{0}; d < need.size(); ++d) {
    if (quota_[d] == 0)
      continue;
    used_[d] += wanted[d];
    auto open = wanted[d];
    for (auto& each : grants_) {
      const auto taken = std::min(open, each.amounts[d]);
      each.amounts[d] -= taken;
      open -= taken;
    }
    back_[d] -= open;
  }
  return true;
}

void granted_limits::give_back(const limit_amounts& unused) noexcept {
  for (auto d = std::size_t{0}; d < unused.size(); ++d)
    back_[d] += quota_[d] > 0 ? unused[d] : 0;
}

granted_limits::time_point granted_limits::next_ask() const noexcept {
  return phase_ == phase::active ? asked_at_ + pause_ : time_point::max();
}

limit_request granted_limits::ask(time_point now) {
  drop_expired(now);
  become(phase::asking);
  if (now - needed_at_ > 2 * second_) // its run was cancelled
    need_ = {};
  const auto have = left();
  const auto since = std::max<double>(static_cast<double>((now - asked_at_).count()), 1);
  auto out = limit_request{.want = {}, .need = need_, .back = std::exchange(back_, {})};
  const auto is_waiting = need_ != limit_amounts{};
  for (auto d = std::size_t{0}; d < have.size(); ++d) {
    if (quota_[d] == 0)
      continue;
    // A quarter more than was used lately, so that a growing rate needs to wait less often.
    const auto lately =
        static_cast<double>(used_[d]) * static_cast<double>(second_.count()) / since;
    const auto more = static_cast<std::int64_t>(lately * 1.25) - have[d];
    out.want[d] = is_waiting ? unbounded : std::max<std::int64_t>(more, 0);
  }
  used_ = {};
  asked_ = out;
  asked_at_ = now;
  return out;
}

void granted_limits::granted(const limit_amounts& amounts, time_point now) {
  if (amounts != limit_amounts{})
    grants_.push_back({amounts, asked_at_ + second_});
  // A database that is slow gets fewer requests, so that grants do not arrive too late.
  pause_ = std::clamp<duration>(8 * (now - asked_at_), second_ / 4, second_ * 3 / 4);
  drop_expired(now);
  const auto is_leaving = asked_.want == limit_amounts{};
  const auto is_unused = grants_.empty() && back_ == limit_amounts{} && need_ == limit_amounts{} &&
                         used_ == limit_amounts{};
  become(is_leaving && is_unused ? phase::idle : phase::active);
}

void granted_limits::failed(time_point now) noexcept {
  drop_expired(now);
  for (auto d = std::size_t{0}; d < back_.size(); ++d)
    back_[d] += std::min<std::int64_t>(asked_.back[d], 0);
  become(phase::active);
}

limit_request granted_limits::leave() noexcept {
  drop_expired(time_point::max());
  return {.want = {}, .need = {}, .back = std::exchange(back_, {})};
}

} // namespace superstep::detail

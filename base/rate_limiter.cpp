// SPDX-License-Identifier: Apache-2.0
// Limits of requests and tokens per minute. Each limit is a token bucket, which spreads the
// requests, and a sliding window, which guarantees the limit for every minute.
#include "base/rate_window.hpp"

#include <superstep/base/await.hpp>
#include <superstep/base/detail/limiter.hpp>
#include <superstep/base/detail/rate_limiter.hpp>

#include <algorithm>
#include <mutex>
#include <utility>

namespace superstep {

namespace {

using time_point = rate_limiter::time_point;
using std::chrono::nanoseconds;

/// One limit per minute.
class rate {
public:
  rate(std::int64_t per_minute, std::chrono::milliseconds burst, std::chrono::milliseconds window)
      : burst_{burst}, window_{window}, configured_{static_cast<double>(per_minute)} {
    set_limit(configured_);
    filled_ = size_;
  }

  [[nodiscard]] bool has_limit() const noexcept { return limit_ > 0; }
  void refill(time_point now) noexcept {
    window_.advance(now);
    if (last_ != time_point{} && now > last_)
      filled_ = std::min(size_, filled_ + per_ns_ * static_cast<double>((now - last_).count()));
    last_ = std::max(last_, now);
    if (now >= foreign_until_)
      foreign_ = 0;
  }
  /// Returns when `amount` may be taken. refill() must have been called. A request larger than the
  /// bucket is admitted when the bucket is full, one larger than the limit when nothing is used.
  [[nodiscard]] time_point when(double amount, time_point now) const noexcept {
    if (!has_limit())
      return now;
    auto out = now;
    if (const auto missing = std::min(amount, size_) - filled_; missing > 0)
      out += nanoseconds{static_cast<std::int64_t>(missing / per_ns_) + 1};
    constexpr auto rounding = 1e-6;
    const auto free = limit_ - std::min(amount, limit_) + rounding;
    if (window_.sum() > free)
      return std::max(out, window_.when_at_most(free));
    // Other processes use the server's limit, but not the share of it that is configured here.
    if (foreign_ > 0 && window_.sum() + foreign_ > learned_ - std::min(amount, learned_) + rounding)
      out = std::max(out, foreign_until_);
    return out;
  }
  void take(double amount, time_point now) noexcept {
    filled_ -= has_limit() ? amount : 0;
    window_.add(now, amount);
  }
  void correct(time_point taken_at, double by) noexcept {
    filled_ -= has_limit() ? by : 0;
    window_.change(taken_at, by);
  }
  void restrict_to(std::int64_t per_minute) noexcept {
    const auto limit = static_cast<double>(per_minute);
    if (limit > 0 && (configured_ <= 0 || limit < configured_)) {
      configured_ = limit;
      set_limit(learned_ > 0 ? std::min(learned_, limit) : limit);
    }
  }
  [[nodiscard]] bool is_per_minute(const server_rate& seen) const noexcept {
    const auto used = seen.limit - seen.remaining;
    if (seen.limit <= 0 || used <= 0 || seen.reset.count() <= 0)
      return false;
    // `reset` is rounded by the server, so the period is known only roughly.
    const auto period = static_cast<double>(seen.reset.count()) * static_cast<double>(seen.limit) /
                        static_cast<double>(used);
    const auto minute = static_cast<double>(window_.length().count());
    return period >= minute / 3 && period <= minute * 3;
  }
  /// Applies what the server reports, if its limit is one per minute.
  void observe(const server_rate& seen, time_point sent, time_point now) noexcept {
    if (!is_per_minute(seen))
      return;
    const auto used = seen.limit - seen.remaining;
    learned_ = static_cast<double>(seen.limit);
    set_limit(configured_ > 0 ? std::min(configured_, learned_) : learned_);
    foreign_ = std::max(0.0, static_cast<double>(used) - window_.sum_until(sent));
    foreign_until_ = now + std::min(seen.reset, window_.length());
  }

private:
  void set_limit(double limit) noexcept {
    if (limit == limit_)
      return;
    limit_ = limit;
    per_ns_ = limit / static_cast<double>(window_.length().count());
    size_ = std::max(1.0, per_ns_ * static_cast<double>(nanoseconds{burst_}.count()));
    filled_ = std::min(filled_, size_);
  }

  std::chrono::milliseconds burst_;
  rate_window window_;
  double configured_;          ///< 0: no limit
  double learned_ = 0;         ///< the limit that the server reports; 0: none
  double limit_ = 0;           ///< the lower of both; 0: no limit
  double per_ns_ = 0;          ///< refill of the bucket
  double size_ = 1;            ///< of the bucket
  double filled_ = 0;          ///< negative after a request that was larger than the bucket
  double foreign_ = 0;         ///< used by other processes
  time_point foreign_until_{}; ///< when foreign_ expires
  time_point last_{};
};

} // namespace

struct rate_limiter::state {
  state(const rate_limits& limits, std::shared_ptr<limit_source> source)
      : requests{limits.requests_per_minute, limits.burst, limits.window},
        tokens{limits.tokens_per_minute, limits.burst, limits.window}, shared{std::move(source)} {
    if (shared)
      shared->on_grant([this] { change([] {}); });
  }
  ~state() {
    if (shared)
      shared->on_grant({});
  }
  state(const state&) = delete;
  state& operator=(const state&) = delete;

  time_point try_reserve(std::int64_t amount, time_point now) {
    const auto lock = std::scoped_lock{mutex};
    return reserve_now(amount, now);
  }
  /// Calls try_reserve() for the first waiting request. Also returns the number of changes so far,
  /// for sleep_as_first().
  std::pair<time_point, std::uint64_t> try_reserve_first(std::int64_t amount, time_point now) {
    const auto lock = std::scoped_lock{mutex};
    return {reserve_now(amount, now), changes};
  }
  /// Applies a change that may admit the first waiting request earlier, and wakes that request.
  template <class Change>
  void change(Change apply) {
    auto woken = std::optional<completer<bool>>{};
    {
      const auto lock = std::scoped_lock{mutex};
      apply();
      ++changes;
      woken = std::exchange(first, std::nullopt);
    }
    if (woken)
      (*woken)(true);
  }
  /// Registers the first waiting request for its wake-up. Wakes it at once if anything has changed
  /// since it tried to reserve.
  void sleep_as_first(const completer<bool>& wake_up, std::uint64_t changes_seen) {
    {
      const auto lock = std::scoped_lock{mutex};
      if (changes == changes_seen) {
        first = wake_up;
        return;
      }
    }
    wake_up(true);
  }
  /// Removes the registration of sleep_as_first(), because the coroutine was destroyed.
  void forget_first() {
    const auto lock = std::scoped_lock{mutex};
    first.reset();
  }

  mutable std::mutex mutex;
  rate requests;
  rate tokens;
  const std::shared_ptr<limit_source> shared; ///< limits over several processes; may be null
  time_point paused{};
  std::uint64_t changes = 0;
  std::optional<completer<bool>> first; ///< wakes the first waiting request; empty if it is awake
  // the holder of its permit sleeps until its time has come; all other requests wait for the permit
  limiter head_of_line{1};

private:
  time_point reserve_now(std::int64_t amount, time_point now) {
    if (now < paused)
      return paused;
    requests.refill(now);
    tokens.refill(now);
    const auto wanted = static_cast<double>(amount);
    auto when = std::max(requests.when(1, now), tokens.when(wanted, now));
    if (when <= now && shared)
      when = shared->take(amount, now);
    if (when > now)
      return when;
    requests.take(1, now);
    tokens.take(wanted, now);
    return now;
  }
};

rate_limiter::rate_limiter(rate_limits limits) : rate_limiter{limits, nullptr} {}

rate_limiter::rate_limiter(rate_limits limits, std::shared_ptr<limit_source> shared)
    : state_{std::make_shared<state>(limits, std::move(shared))} {}

time_point rate_limiter::try_reserve(std::int64_t tokens, time_point now) const {
  return state_->try_reserve(tokens, now);
}

task<time_point> rate_limiter::reserve(std::int64_t tokens) const {
  return [](std::shared_ptr<state> in, std::int64_t wanted) -> task<time_point> {
    auto waiting = wait_for_turn(std::move(in), [wanted] { return wanted; });
    const auto reserved = co_await waiting;
    co_return reserved.at;
  }(state_, tokens);
}

task<rate_limiter::reservation> rate_limiter::reserve(estimator tokens) const {
  return wait_for_turn(state_, std::move(tokens));
}

task<void> rate_limiter::wake_first_at(std::shared_ptr<state> in, time_point when) {
  auto rest = sleep_until{when};
  co_await rest;
  in->change([] {});
}

task<rate_limiter::reservation> rate_limiter::wait_for_turn(std::shared_ptr<state> in,
                                                            estimator tokens) {
  auto line = in->head_of_line.acquire();
  const auto turn = co_await line;
  auto& at = co_await this_context{};
  auto alarm = task<void>{};
  auto alarm_at = time_point{};
  for (;;) {
    const auto now = at.where->now();
    const auto wanted = tokens();
    const auto [when, changes] = in->try_reserve_first(wanted, now);
    if (when <= now)
      co_return reservation{now, wanted};
    // An alarm that is earlier than necessary is kept, so that a wake-up does not cost a timer.
    if (!alarm || alarm.done() || when < alarm_at) {
      alarm_at = when;
      alarm = wake_first_at(in, when);
      alarm.start_in(at);
      alarm.handle().resume();
      if (alarm.done())
        alarm.take(); // throws if the timer lacks memory
    }
    auto sleeping = await_callback<bool>([in, seen = changes](completer<bool> wake_up) {
      wake_up.on_abandon([in] { in->forget_first(); });
      in->sleep_as_first(wake_up, seen);
    });
    co_await sleeping;
  }
}

void rate_limiter::settle(time_point reserved_at, std::int64_t reserved, std::int64_t used) const {
  state_->change([&] {
    state_->tokens.correct(reserved_at, static_cast<double>(used - reserved));
    if (state_->shared)
      state_->shared->give_back(0, reserved - used);
  });
}

void rate_limiter::cancel(time_point reserved_at, std::int64_t reserved) const {
  state_->change([&] {
    state_->tokens.correct(reserved_at, -static_cast<double>(reserved));
    state_->requests.correct(reserved_at, -1);
    if (state_->shared)
      state_->shared->give_back(1, reserved);
  });
}

void rate_limiter::pause_until(time_point until) const {
  const auto lock = std::scoped_lock{state_->mutex};
  state_->paused = std::max(state_->paused, until);
}

time_point rate_limiter::paused_until() const {
  const auto lock = std::scoped_lock{state_->mutex};
  return state_->paused;
}

void rate_limiter::observe(std::optional<server_rate> requests, std::optional<server_rate> tokens,
                           time_point sent, time_point now) const {
  state_->change([&] {
    if (requests)
      state_->requests.observe(*requests, sent, now);
    if (tokens)
      state_->tokens.observe(*tokens, sent, now);
  });
}

bool rate_limiter::is_per_minute(const server_rate& seen) const {
  const auto lock = std::scoped_lock{state_->mutex};
  return state_->requests.is_per_minute(seen);
}

void rate_limiter::restrict_to(const rate_limits& limits) const {
  const auto lock = std::scoped_lock{state_->mutex};
  state_->requests.restrict_to(limits.requests_per_minute);
  state_->tokens.restrict_to(limits.tokens_per_minute);
}

bool rate_limiter::has_limit() const {
  const auto lock = std::scoped_lock{state_->mutex};
  return state_->requests.has_limit() || state_->tokens.has_limit();
}

bool rate_limiter::limits_tokens() const {
  const auto lock = std::scoped_lock{state_->mutex};
  return state_->tokens.has_limit();
}

rate_limiter::weak rate_limiter::reference() const {
  auto out = weak{};
  out.state_ = state_;
  return out;
}

std::optional<rate_limiter> rate_limiter::weak::lock() const {
  auto held = state_.lock();
  return held ? std::optional{rate_limiter{std::move(held)}} : std::nullopt;
}

} // namespace superstep

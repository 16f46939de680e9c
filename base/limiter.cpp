// SPDX-License-Identifier: Apache-2.0
// Limits of concurrency (limiter) and of rate (rate_limiter); limiter.hpp describes them. Both
// admit waiting coroutines in the order of arrival.
#include <superstep/base/await.hpp>
#include <superstep/base/detail/limiter.hpp>

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

namespace superstep {

// Invariant: no coroutine waits while a permit is free. Each function that frees a permit therefore
// ends in let_in(). Waits are ended outside the lock: if the waiting coroutine was destroyed, its
// permit is destroyed at once, which takes the lock again.

struct limiter::state {
  mutable std::mutex mutex;
  std::size_t limit = 0; // 0: no limit
  std::size_t in_flight = 0;
  std::size_t in_flight_max = 0;
  std::uint64_t next_ticket = 0;
  // The coroutines that wait, by ticket. A coroutine has at most one entry, which is removed when
  // the coroutine is destroyed.
  std::map<std::uint64_t, completer<permit>> line;

  [[nodiscard]] bool has_room() const noexcept { return limit == 0 || in_flight < limit; }
  void enter() noexcept { in_flight_max = std::max(in_flight_max, ++in_flight); }
};

void limiter::permit::release() noexcept {
  if (!from_)
    return;
  const auto from = std::exchange(from_, nullptr);
  {
    const auto lock = std::scoped_lock{from->mutex};
    SUPERSTEP_ASSERT(from->in_flight > 0);
    --from->in_flight;
  }
  let_in(from);
}

limiter::limiter(std::size_t limit) : state_{std::make_shared<state>()} {
  state_->limit = limit;
}

std::optional<limiter::permit> limiter::enter(const std::shared_ptr<state>& in) {
  const auto lock = std::scoped_lock{in->mutex};
  if (!in->line.empty() || !in->has_room())
    return std::nullopt;
  in->enter();
  return permit{in};
}

std::optional<limiter::permit> limiter::try_acquire() const {
  return enter(state_);
}

task<limiter::permit> limiter::acquire() const {
  return wait_in_line(state_);
}

task<limiter::permit> limiter::wait_in_line(std::shared_ptr<state> in) {
  if (auto at_once = enter(in))
    co_return std::move(*at_once);
  auto start = [in](completer<permit> done) {
    auto ticket = std::uint64_t{0};
    {
      const auto lock = std::scoped_lock{in->mutex};
      ticket = in->next_ticket++;
      in->line.emplace(ticket, done);
    }
    // Has no effect if the coroutine was admitted meanwhile. Its permit is then returned by the
    // permit's destructor.
    done.on_abandon([in, ticket] {
      const auto lock = std::scoped_lock{in->mutex};
      in->line.erase(ticket);
    });
    let_in(in);
  };
  auto got = await_callback<permit>(std::move(start));
  co_return co_await got;
}

void limiter::let_in(const std::shared_ptr<state>& in) {
  for (;;) {
    auto first = std::optional<completer<permit>>{};
    {
      const auto lock = std::scoped_lock{in->mutex};
      if (in->line.empty() || !in->has_room())
        return;
      first.emplace(std::move(in->line.begin()->second));
      in->line.erase(in->line.begin());
      in->enter();
    }
    (*first)(permit{in});
  }
}

void limiter::set_limit(std::size_t limit) const {
  {
    const auto lock = std::scoped_lock{state_->mutex};
    state_->limit = limit;
  }
  let_in(state_);
}

std::size_t limiter::limit() const {
  const auto lock = std::scoped_lock{state_->mutex};
  return state_->limit;
}

std::size_t limiter::in_flight() const {
  const auto lock = std::scoped_lock{state_->mutex};
  return state_->in_flight;
}

std::size_t limiter::in_flight_max() const {
  const auto lock = std::scoped_lock{state_->mutex};
  return state_->in_flight_max;
}

std::size_t limiter::waiting() const {
  const auto lock = std::scoped_lock{state_->mutex};
  return state_->line.size();
}

namespace {

/// A token bucket, which is refilled at a rate per minute up to `size`. `filled` is negative after
/// a request that was larger than the bucket, or that used more than it had reserved.
struct token_bucket {
  double per_ns = 0; // 0: no limit
  double size = 0;
  double filled = 0;

  token_bucket(std::int64_t per_minute, std::chrono::milliseconds burst)
      : per_ns{static_cast<double>(per_minute) / 60e9},
        size{std::max(1.0, per_ns * static_cast<double>(std::chrono::nanoseconds{burst}.count()))},
        filled{size} {}

  void refill(std::chrono::nanoseconds passed) noexcept {
    filled = std::min(size, filled + per_ns * static_cast<double>(passed.count()));
  }
  /// Returns the time until `amount` may be taken. A request larger than the bucket is admitted
  /// when the bucket is full, and leaves `filled` negative.
  [[nodiscard]] std::chrono::nanoseconds time_until(double amount) const noexcept {
    const auto missing = std::min(amount, size) - filled;
    if (per_ns <= 0 || missing <= 0)
      return {};
    return std::chrono::nanoseconds{static_cast<std::int64_t>(missing / per_ns) + 1};
  }
  void take(double amount) noexcept {
    if (per_ns > 0)
      filled -= amount;
  }
};

// The first waiting request checks again at least this often, because tokens that other requests
// return may admit it earlier.
constexpr auto poll_interval = std::chrono::milliseconds{250};

} // namespace

struct rate_limiter::state {
  explicit state(const rate_limits& limits)
      : requests{limits.requests_per_minute, limits.burst},
        tokens{limits.tokens_per_minute, limits.burst} {}

  time_point try_reserve(std::int64_t amount, time_point now) {
    const auto lock = std::scoped_lock{mutex};
    if (now < paused)
      return paused;
    if (last != time_point{} && now > last) {
      requests.refill(now - last);
      tokens.refill(now - last);
    }
    last = std::max(last, now);
    const auto wanted = static_cast<double>(amount);
    const auto wait = std::max(requests.time_until(1), tokens.time_until(wanted));
    if (wait.count() > 0)
      return now + wait;
    requests.take(1);
    tokens.take(wanted);
    return now;
  }

  mutable std::mutex mutex;
  token_bucket requests;
  token_bucket tokens;
  time_point last{};
  time_point paused{};
  // the holder of its permit sleeps until its time has come; all other requests wait for the permit
  limiter head_of_line{1};
};

rate_limiter::rate_limiter(rate_limits limits) : state_{std::make_shared<state>(limits)} {}

rate_limiter::time_point rate_limiter::try_reserve(std::int64_t tokens, time_point now) const {
  return state_->try_reserve(tokens, now);
}

task<void> rate_limiter::reserve(std::int64_t tokens) const {
  return wait_for_turn(state_, tokens);
}

task<void> rate_limiter::wait_for_turn(std::shared_ptr<state> in, std::int64_t tokens) {
  auto line = in->head_of_line.acquire();
  const auto turn = co_await line;
  auto& at = co_await this_context{};
  for (;;) {
    const auto now = at.where->now();
    const auto when = in->try_reserve(tokens, now);
    if (when <= now)
      co_return;
    auto rest = sleep_until{std::min(when, now + poll_interval)};
    co_await rest;
  }
}

void rate_limiter::settle(std::int64_t reserved, std::int64_t used) const {
  const auto lock = std::scoped_lock{state_->mutex};
  state_->tokens.take(static_cast<double>(used - reserved));
}

void rate_limiter::pause_until(time_point until) const {
  const auto lock = std::scoped_lock{state_->mutex};
  state_->paused = std::max(state_->paused, until);
}

rate_limiter::time_point rate_limiter::paused_until() const {
  const auto lock = std::scoped_lock{state_->mutex};
  return state_->paused;
}

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
// The limit of concurrency. Waiting coroutines are admitted in the order of arrival.
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

} // namespace superstep

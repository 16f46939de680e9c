// SPDX-License-Identifier: Apache-2.0
// The limit of concurrency. Waiting coroutines are admitted in the order of arrival.
#include <superstep/base/await.hpp>
#include <superstep/base/detail/limiter.hpp>

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

namespace superstep {

// Invariant: no coroutine waits while a permit is free. Permits are taken and returned without a
// lock unless coroutines wait. Both change the same word, so either the caller that returns a
// permit sees that a coroutine waits, or the coroutine sees the free permit; each then calls
// admit(). Waits are ended outside the lock: if the waiting coroutine was destroyed, its permit is
// destroyed at once, which takes the lock again.

struct limiter::state {
  static constexpr auto has_line = std::uint64_t{1} << 63;

  explicit state(std::size_t max) noexcept : limit{max} {}

  /// Takes a permit if one is free.
  /// @param is_first whether the caller is the first of the line; others must not pass the line
  [[nodiscard]] bool try_enter(bool is_first) noexcept {
    auto seen = used.load();
    for (;;) {
      const auto count = seen & ~has_line;
      const auto most = limit.load();
      if (((seen & has_line) != 0 && !is_first) || (most != 0 && count >= most))
        return false;
      if (used.compare_exchange_weak(seen, seen + 1)) {
        note_in_flight(count + 1);
        return true;
      }
    }
  }
  [[nodiscard]] std::size_t in_flight() const noexcept { return used.load() & ~has_line; }
  void erase(std::map<std::uint64_t, completer<permit>>::iterator from_line) {
    line.erase(from_line);
    if (line.empty())
      used.fetch_and(~has_line);
  }

  /// the number of permits in use, and has_line while `line` is not empty
  std::atomic<std::uint64_t> used{0};
  std::atomic<std::size_t> limit; ///< 0: no limit
  std::atomic<std::size_t> in_flight_max{0};
  mutable std::mutex mutex; ///< guards the members below
  std::uint64_t next_ticket = 0;
  // The coroutines that wait, by ticket. A coroutine has at most one entry, which is removed when
  // the coroutine is destroyed.
  std::map<std::uint64_t, completer<permit>> line;

private:
  void note_in_flight(std::size_t count) noexcept {
    auto most = in_flight_max.load(std::memory_order_relaxed);
    while (count > most && !in_flight_max.compare_exchange_weak(most, count))
      continue;
  }
};

void limiter::permit::release() noexcept {
  if (!from_)
    return;
  const auto from = std::exchange(from_, nullptr);
  const auto before = from->used.fetch_sub(1);
  SUPERSTEP_ASSERT((before & ~state::has_line) > 0);
  if ((before & state::has_line) != 0)
    admit(from);
}

limiter::limiter(std::size_t limit) : state_{std::make_shared<state>(limit)} {}

std::optional<limiter::permit> limiter::enter(const std::shared_ptr<state>& in) {
  if (!in->try_enter(false))
    return std::nullopt;
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
      in->used.fetch_or(state::has_line);
    }
    // Has no effect if the coroutine was admitted meanwhile. Its permit is then returned by the
    // permit's destructor.
    done.on_abandon([in, ticket] {
      const auto lock = std::scoped_lock{in->mutex};
      if (const auto found = in->line.find(ticket); found != in->line.end())
        in->erase(found);
    });
    admit(in);
  };
  auto got = await_callback<permit>(std::move(start));
  co_return co_await got;
}

void limiter::admit(const std::shared_ptr<state>& in) {
  for (;;) {
    auto first = std::optional<completer<permit>>{};
    {
      const auto lock = std::scoped_lock{in->mutex};
      if (in->line.empty() || !in->try_enter(true))
        return;
      first.emplace(std::move(in->line.begin()->second));
      in->erase(in->line.begin());
    }
    (*first)(permit{in});
  }
}

void limiter::set_limit(std::size_t limit) const {
  state_->limit.store(limit);
  admit(state_);
}

std::size_t limiter::limit() const {
  return state_->limit.load();
}

std::size_t limiter::in_flight() const {
  return state_->in_flight();
}

std::size_t limiter::in_flight_max() const {
  return state_->in_flight_max.load();
}

std::size_t limiter::waiting() const {
  const auto lock = std::scoped_lock{state_->mutex};
  return state_->line.size();
}

} // namespace superstep

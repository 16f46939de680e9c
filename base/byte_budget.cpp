// SPDX-License-Identifier: Apache-2.0
// The shared bound on the bytes that readers hold; see byte_budget.hpp.
#include <superstep/base/await.hpp>
#include <superstep/base/detail/byte_budget.hpp>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

namespace superstep {

// Invariant: no reader waits while there is room for it and for all that wait before it, and one
// reader is exempt from the bound while any reader waits. Every function that returns bytes
// therefore ends in let_go_on(). Waits are ended outside the lock, because that may destroy a
// lease.

struct byte_budget::state {
  struct reader {
    std::size_t held = 0;
    std::size_t wanted = 0; ///< while it waits
    std::optional<completer<bool>> waits;
  };

  mutable std::mutex mutex;
  std::size_t bytes_max = 0; // 0 = no limit
  std::size_t used = 0;
  std::size_t used_max = 0;
  std::uint64_t next_ticket = 1;
  std::uint64_t exempt = 0; // the one reader that may exceed the bound; 0 = none yet
  // readers that hold bytes or wait; bounded by their leases
  std::map<std::uint64_t, reader> readers;
  std::set<std::uint64_t> waiting; // tickets of those that wait

  [[nodiscard]] bool fits(std::uint64_t ticket, std::size_t bytes) const {
    return bytes_max == 0 || ticket == exempt || used + bytes <= bytes_max;
  }
  void take(reader& by, std::size_t bytes) {
    by.held += bytes;
    used_max = std::max(used_max, used += bytes);
  }
  void grant(std::uint64_t ticket, std::vector<completer<bool>>& into) {
    auto& one = readers.at(ticket);
    take(one, one.wanted);
    into.push_back(std::move(*one.waits));
    one.waits.reset();
    waiting.erase(ticket);
  }
  /// Returns the waits that may end now, in order. O(log n) for each of them.
  std::vector<completer<bool>> let_go_on() {
    auto out = std::vector<completer<bool>>{};
    if (waiting.contains(exempt)) // it is admitted before readers without room
      grant(exempt, out);
    while (!waiting.empty()) {
      const auto first = *waiting.begin();
      if (!fits(first, readers.at(first).wanted)) {
        if (exempt != 0)
          break;
        // A waiting reader has bytes to read. One that does not wait may be waiting for its server,
        // so it would be a bad choice.
        exempt = first;
      }
      grant(first, out);
    }
    return out;
  }
};

byte_budget::byte_budget(std::size_t bytes_max) : state_{std::make_shared<state>()} {
  state_->bytes_max = bytes_max;
}

byte_budget::lease byte_budget::open() const {
  return lease{state_};
}

bool byte_budget::lease::try_grow(std::size_t bytes) {
  const auto lock = std::scoped_lock{from_->mutex};
  if (ticket_ == 0)
    ticket_ = from_->next_ticket++;
  auto& mine = from_->readers[ticket_];
  // No reader overtakes those that wait.
  const auto is_next = from_->waiting.empty() || from_->exempt == ticket_;
  if (!is_next || !from_->fits(ticket_, bytes))
    return false;
  from_->take(mine, bytes);
  return true;
}

task<void> byte_budget::lease::grow(std::size_t bytes) {
  if (ticket_ == 0) {
    const auto lock = std::scoped_lock{from_->mutex};
    ticket_ = from_->next_ticket++;
    from_->readers.try_emplace(ticket_);
  }
  return wait_for_room(from_, ticket_, bytes);
}

task<void> byte_budget::wait_for_room(std::shared_ptr<state> in, std::uint64_t ticket,
                                      std::size_t bytes) {
  auto start = [in, ticket, bytes](completer<bool> done) {
    auto ready = std::vector<completer<bool>>{};
    {
      const auto lock = std::scoped_lock{in->mutex};
      auto& mine = in->readers[ticket];
      mine.wanted = bytes;
      mine.waits = done;
      in->waiting.insert(ticket);
      ready = in->let_go_on();
    }
    for (const auto& one : ready)
      one(true);
  };
  auto turn = await_callback<bool>(std::move(start));
  co_await turn;
}

void byte_budget::lease::release() noexcept {
  const auto from = std::exchange(from_, nullptr);
  const auto ticket = std::exchange(ticket_, 0);
  if (!from || ticket == 0)
    return;
  auto ready = std::vector<completer<bool>>{};
  {
    const auto lock = std::scoped_lock{from->mutex};
    const auto found = from->readers.find(ticket);
    if (found == from->readers.end())
      return;
    from->used -= found->second.held;
    from->waiting.erase(ticket);
    from->readers.erase(found);
    if (from->exempt == ticket)
      from->exempt = 0;
    ready = from->let_go_on();
  }
  for (const auto& one : ready)
    one(true);
}

std::size_t byte_budget::used() const {
  const auto lock = std::scoped_lock{state_->mutex};
  return state_->used;
}

std::size_t byte_budget::used_max() const {
  const auto lock = std::scoped_lock{state_->mutex};
  return state_->used_max;
}

std::size_t byte_budget::waiting() const {
  const auto lock = std::scoped_lock{state_->mutex};
  return state_->waiting.size();
}

} // namespace superstep

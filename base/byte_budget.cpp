// SPDX-License-Identifier: Apache-2.0
// The shared bound on the bytes that all readers together hold in memory; byte_budget.hpp describes
// it.
#include <superstep/base/await.hpp>
#include <superstep/base/detail/byte_budget.hpp>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

namespace superstep {

// Invariants: the first waiting reader waits only while there is no room for it. While any reader
// waits, one reader is exempt from the bound, so that at least one can finish. Each function that
// returns bytes ends in admit(), which restores both. Waits are ended outside the lock, because
// that may destroy a lease, which takes the lock.

struct byte_budget::state {
  struct reader {
    std::size_t held = 0;
    std::size_t wanted = 0; ///< number of bytes that the reader waits for
    std::optional<completer<bool>> waits;
  };

  mutable std::mutex mutex;
  std::size_t bytes_max = 0; // 0: no limit
  std::size_t used = 0;
  std::size_t used_max = 0;
  std::uint64_t next_ticket = 1;
  std::uint64_t exempt = 0; // ticket of the reader that may exceed the bound; 0: no reader
  // The readers that hold bytes or wait, by ticket. A lease has at most one entry.
  std::map<std::uint64_t, reader> readers;
  std::set<std::uint64_t> waiting; // tickets of the waiting readers, in the order of arrival

  [[nodiscard]] bool fits(std::uint64_t ticket, std::size_t bytes) const {
    return bytes_max == 0 || ticket == exempt || (bytes <= bytes_max && used <= bytes_max - bytes);
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
  /// Admits the readers that may continue now, and returns their waits in order. O(log n) per wait.
  std::vector<completer<bool>> admit() {
    auto out = std::vector<completer<bool>>{};
    if (waiting.contains(exempt)) // the exempt reader does not need room, so it comes first
      grant(exempt, out);
    while (!waiting.empty()) {
      const auto first = *waiting.begin();
      if (!fits(first, readers.at(first).wanted)) {
        if (exempt != 0)
          break;
        // The exemption goes to a waiting reader, because it has data to read. A reader that does
        // not wait may itself be waiting for its server.
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
  // Waiting readers come first, unless this reader is exempt.
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
      ready = in->admit();
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
    ready = from->admit();
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

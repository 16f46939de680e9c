// SPDX-License-Identifier: Apache-2.0
// The rows and chunks of a worker. Every row is counted in the state of its chunk, among the
// orphans, or as settled.
#include "held_rows.hpp"

#include <superstep/base/detail/assert.hpp>

namespace superstep::detail {

// --- worker_chunk ---

void worker_chunk::set(std::uint64_t row, row_state to) {
  auto& state = rows_[index(row)];
  --counts_[static_cast<std::size_t>(state)];
  ++counts_[static_cast<std::size_t>(to)];
  state = to;
  if (to == row_state::ready)
    cursor_ = std::min(cursor_, row);
}

std::uint64_t worker_chunk::start_row() {
  SUPERSTEP_ASSERT(count(row_state::ready) > 0);
  while (state(cursor_) != row_state::ready)
    ++cursor_;
  const auto row = cursor_++;
  set(row, row_state::running);
  return row;
}

void worker_chunk::resize(std::uint64_t new_bound) {
  SUPERSTEP_ASSERT(new_bound > first_);
  for (auto row = new_bound; row < bound(); ++row)
    --counts_[static_cast<std::size_t>(state(row))];
  if (new_bound > bound())
    counts_[static_cast<std::size_t>(row_state::settled)] +=
        static_cast<std::uint32_t>(new_bound - bound());
  rows_.resize(new_bound - first_, row_state::settled);
  cursor_ = std::min(cursor_, new_bound);
}

// --- held_rows ---

/// Returns the chunk that contains a row; end() if the worker does not hold it.
held_rows::chunk_map::iterator held_rows::find(std::uint64_t row) {
  auto after = chunks_.upper_bound(row);
  if (after == chunks_.begin())
    return chunks_.end();
  --after;
  return row < after->second.bound() ? after : chunks_.end();
}

worker_chunk& held_rows::at(std::uint64_t first) {
  const auto found = chunks_.find(first);
  SUPERSTEP_ASSERT(found != chunks_.end());
  return found->second;
}

std::vector<leased_chunk> held_rows::leases() const {
  auto out = std::vector<leased_chunk>{};
  for (const auto& [first, each] : chunks_)
    out.push_back(each.lease());
  return out;
}

std::vector<leased_chunk> held_rows::unread() const {
  auto out = std::vector<leased_chunk>{};
  for (const auto& [first, each] : chunks_)
    if (!each.is_read)
      out.push_back(each.lease());
  return out;
}

bool held_rows::has_ready(ledger_time now) const {
  return std::ranges::any_of(chunks_, [now](const auto& each) {
    return each.second.count(row_state::ready) > 0 && now < each.second.until;
  });
}

std::optional<std::uint64_t> held_rows::take(ledger_time now) {
  for (auto& [first, from] : chunks_) {
    // After the end of its lease, the chunk may be another worker's.
    if (from.count(row_state::ready) == 0 || now >= from.until)
      continue;
    ++running_;
    return from.start_row();
  }
  return std::nullopt;
}

void held_rows::ended(std::uint64_t row) {
  SUPERSTEP_ASSERT(running_ > 0);
  --running_;
  ++ended_;
  const auto of = find(row);
  if (orphans_.erase(row) > 0 || of == chunks_.end() || of->second.state(row) != row_state::running)
    return settle(row, false);
  of->second.set(row, row_state::ended);
}

void held_rows::abandon_running() {
  for (auto& [first, of] : chunks_)
    for (auto row = first; row < of.bound(); ++row)
      if (of.state(row) == row_state::running)
        of.set(row, row_state::ready);
  orphans_.clear();
  running_ = 0;
}

/// Reports a row that has ended as stored or refused.
void held_rows::settle(std::uint64_t row, bool is_stored) {
  SUPERSTEP_ASSERT(ended_ > 0);
  --ended_;
  refused_ += is_stored ? 0U : 1U;
  settled_.push_back({row, is_stored});
}

/// Handles a row that another worker has now.
void held_rows::drop(std::uint64_t row, row_state was) {
  if (was == row_state::running)
    orphans_.insert(row);
  if (was == row_state::ended || was == row_state::committing)
    settle(row, false);
}

void held_rows::adopt(const leased_chunk& lease, ledger_time until) {
  SUPERSTEP_ASSERT(lease.first < lease.bound);
  // The chunk may have been split off from one that this worker holds, whose new bound it has not
  // learned yet.
  if (const auto older = find(lease.first); older != chunks_.end() && older->first < lease.first)
    cut(older->first, lease.first);
  auto& into = chunks_.try_emplace(lease.first, lease.first).first->second;
  if (into.bound() > lease.bound)
    cut(lease.first, lease.bound);
  into.fence = lease.fence;
  into.until = until;
  into.is_read = false;
  into.resize(lease.bound);
}

void held_rows::fill(std::span<const std::uint64_t> rows) {
  for (auto& [first, into] : chunks_) {
    if (into.is_read)
      continue;
    const auto begin = std::ranges::lower_bound(rows, first);
    const auto end = std::ranges::lower_bound(rows, into.bound());
    fill(into, {begin, end});
  }
}

/// Stores which rows of a chunk are left. Rows that run already, because the worker held their
/// chunk before, continue.
void held_rows::fill(worker_chunk& into, std::span<const std::uint64_t> rows) {
  into.is_read = true;
  auto left = rows.begin();
  for (auto row = into.first(); row < into.bound(); ++row) {
    const auto is_left = left != rows.end() && *left == row;
    if (is_left)
      ++left;
    const auto state = into.state(row);
    const auto is_ours = state == row_state::running || state == row_state::ended;
    if (is_left && !is_ours)
      into.set(row, orphans_.erase(row) > 0 ? row_state::running : row_state::ready);
    if (!is_left && state != row_state::settled) {
      into.set(row, row_state::settled);
      drop(row, state);
    }
  }
}

commit_action held_rows::begin_commit(std::size_t room, std::size_t starting) {
  auto out = commit_action{};
  for (auto& [first, each] : chunks_) {
    auto rows = std::vector<std::uint64_t>{};
    auto next = each.is_read ? each.bound() : first;
    for (auto row = first; row < each.bound(); ++row) {
      const auto state = each.state(row);
      if (state == row_state::ready && starting > 0)
        --starting;
      else if (state == row_state::ready)
        next = std::min(next, row);
      if (state != row_state::ended || room == 0)
        continue;
      each.set(row, row_state::committing);
      rows.push_back(row);
      --room;
    }
    out.parts.push_back({.first = first, .fence = each.fence, .next = next});
    out.rows.push_back(std::move(rows));
  }
  return out;
}

void held_rows::end_commit(std::uint64_t first, std::span<const std::uint64_t> rows,
                           bool is_stored) {
  auto& of = at(first);
  for (const auto row : rows) {
    of.set(row, is_stored ? row_state::settled : row_state::ended);
    if (is_stored)
      settle(row, true);
  }
}

void held_rows::renew(std::uint64_t first, ledger_time until) {
  at(first).until = until;
}

void held_rows::cut(std::uint64_t first, std::uint64_t bound) {
  SUPERSTEP_ASSERT(bound > first);
  auto& from = at(first);
  if (bound >= from.bound())
    return;
  for (auto row = bound; row < from.bound(); ++row)
    drop(row, from.state(row));
  from.resize(bound);
}

void held_rows::remove_if_settled(std::uint64_t first) {
  const auto& of = at(first);
  if (of.is_read && of.open() == 0)
    chunks_.erase(first);
}

void held_rows::resolve(const held_chunk& as, ledger_time until) {
  const auto held = chunks_.find(as.chunk.first);
  if (held == chunks_.end())
    return adopt(as.chunk, until);
  auto& own = held->second;
  for (auto row = own.first(); row < own.bound(); ++row) {
    const auto state = own.state(row);
    const auto is_stored = std::ranges::binary_search(as.stored, row);
    if (is_stored && (state == row_state::committing || state == row_state::ended)) {
      own.set(row, row_state::settled);
      settle(row, true);
    } else if (state == row_state::committing) {
      own.set(row, row_state::ended);
    } else if (state == row_state::settled && !is_stored && row < as.chunk.bound) {
      own.is_read = false; // its output was removed, so that it runs again
    }
  }
  cut(own.first(), as.chunk.bound);
  own.fence = as.chunk.fence;
  own.until = until;
  remove_if_settled(own.first()); // the statement without an answer may have stored the last rows
}

void held_rows::lose_others(std::span<const held_chunk> held) {
  std::erase_if(chunks_, [&](const auto& each) {
    const auto& chunk = each.second;
    if (std::ranges::any_of(held, [&](const held_chunk& h) { return h.chunk.first == each.first; }))
      return false;
    for (auto row = chunk.first(); row < chunk.bound(); ++row)
      drop(row, chunk.state(row));
    return true;
  });
}

void held_rows::clear() {
  SUPERSTEP_ASSERT(running_ == 0 && ended_ == 0);
  chunks_.clear();
}

} // namespace superstep::detail

// SPDX-License-Identifier: Apache-2.0
// The state machine of a worker: rows and chunks. ledger_statements.cpp decides which statement is
// next and handles the answers.
#include "ledger_worker.hpp"

#include <superstep/base/detail/assert.hpp>

#include <algorithm>

namespace superstep::detail {

ledger_worker::ledger_worker(const ledger_worker_options& options)
    : options_{options}, random_{options.seed} {
  SUPERSTEP_ASSERT(options.lease.count() > 0 && options.chunks_max > 0 && options.rows_max > 0);
}

/// Whether another row may start.
bool ledger_worker::may_start() const noexcept {
  return !is_draining_ && job_ == shared_job_state::open;
}

/// Whether the worker ends as soon as its rows are settled.
bool ledger_worker::must_end() const noexcept {
  return is_draining_ || job_ == shared_job_state::finished || job_ == shared_job_state::cancelled;
}

/// Returns the chunk that contains a row; end() if the worker does not hold it.
ledger_worker::chunk_map::iterator ledger_worker::find(std::uint64_t row) {
  auto after = chunks_.upper_bound(row);
  if (after == chunks_.begin())
    return chunks_.end();
  --after;
  return row < after->second.bound ? after : chunks_.end();
}

void ledger_worker::set(chunk& in, std::uint64_t first, std::uint64_t row, row_state to) {
  SUPERSTEP_ASSERT(row >= first && row - first < in.rows.size());
  auto& state = in.rows[row - first];
  --in.counts[static_cast<std::size_t>(state)];
  ++in.counts[static_cast<std::size_t>(to)];
  state = to;
  if (to == row_state::ready)
    in.cursor = std::min(in.cursor, row);
}

bool ledger_worker::has_row(ledger_time now) const {
  return may_start() && std::ranges::any_of(chunks_, [now](const auto& each) {
           return each.second.count(row_state::ready) > 0 && now < each.second.until;
         });
}

std::optional<std::uint64_t> ledger_worker::take(ledger_time now) {
  if (!may_start())
    return std::nullopt;
  for (auto& [first, from] : chunks_) {
    // After the end of its lease, the chunk may be another worker's.
    if (from.count(row_state::ready) == 0 || now >= from.until)
      continue;
    while (from.rows[from.cursor - first] != row_state::ready)
      ++from.cursor;
    const auto row = from.cursor++;
    set(from, first, row, row_state::running);
    ++running_;
    return row;
  }
  return std::nullopt;
}

void ledger_worker::ended(std::uint64_t row, ledger_time /*now*/) {
  SUPERSTEP_ASSERT(running_ > 0);
  --running_;
  ++ended_;
  const auto at = find(row);
  if (orphans_.erase(row) > 0 || at == chunks_.end() ||
      at->second.rows[row - at->first] != row_state::running)
    return settle(row, false);
  set(at->second, at->first, row, row_state::ended);
}

void ledger_worker::abandon_running() {
  for (auto& [first, of] : chunks_)
    for (auto row = first; row < of.bound; ++row)
      if (of.rows[row - first] == row_state::running)
        set(of, first, row, row_state::ready);
  orphans_.clear();
  running_ = 0;
}

/// Reports a row that has ended as stored or refused.
void ledger_worker::settle(std::uint64_t row, bool is_stored) {
  SUPERSTEP_ASSERT(ended_ > 0);
  --ended_;
  refused_ += is_stored ? 0U : 1U;
  settled_.push_back({row, is_stored});
}

/// Adds a chunk whose rows are not known yet, or updates the fence of one that the worker holds.
void ledger_worker::adopt(const leased_chunk& lease) {
  SUPERSTEP_ASSERT(lease.first < lease.bound);
  rows_per_chunk_ = lease.bound - lease.first;
  // The chunk may have been split off from one that this worker holds, whose new bound it has not
  // learned yet.
  if (const auto older = find(lease.first); older != chunks_.end() && older->first < lease.first)
    shrink(older->first, older->second, lease.first);
  auto& into = chunks_[lease.first];
  if (into.bound > lease.bound)
    shrink(lease.first, into, lease.bound);
  into.fence = lease.fence;
  into.until = begun_ + options_.lease;
  into.is_read = false;
  into.bound = lease.bound;
  const auto added = (lease.bound - lease.first) - into.rows.size();
  into.rows.resize(lease.bound - lease.first, row_state::settled);
  into.counts[static_cast<std::size_t>(row_state::settled)] += static_cast<std::uint32_t>(added);
}

/// Stores which rows of a chunk are left. Rows that run already, because the worker held their
/// chunk before, continue.
void ledger_worker::fill(std::uint64_t first, chunk& into, std::span<const std::uint64_t> rows) {
  into.is_read = true;
  into.cursor = into.bound;
  auto left = rows.begin();
  for (auto row = first; row < into.bound; ++row) {
    const auto is_left = left != rows.end() && *left == row;
    if (is_left)
      ++left;
    const auto state = into.rows[row - first];
    const auto is_ours = state == row_state::running || state == row_state::ended;
    if (is_left && !is_ours)
      set(into, first, row, orphans_.erase(row) > 0 ? row_state::running : row_state::ready);
    if (!is_left && state != row_state::settled) {
      set(into, first, row, row_state::settled);
      drop(row, state);
    }
  }
}

/// Handles a row that is not this worker's any more.
void ledger_worker::drop(std::uint64_t row, row_state was) {
  if (was == row_state::running)
    orphans_.insert(row);
  if (was == row_state::ended || was == row_state::committing)
    settle(row, false);
}

/// Removes the rows from `bound` on, which are another worker's now.
void ledger_worker::shrink(std::uint64_t first, chunk& from, std::uint64_t bound) {
  SUPERSTEP_ASSERT(bound > first);
  for (auto row = bound; row < from.bound; ++row) {
    const auto was = from.rows[row - first];
    --from.counts[static_cast<std::size_t>(was)];
    drop(row, was);
  }
  if (bound < from.bound) {
    from.rows.resize(bound - first);
    from.bound = bound;
    from.cursor = std::min(from.cursor, bound);
  }
}

/// Removes a chunk that another worker has leased, or that was split off as a whole.
ledger_worker::chunk_map::iterator ledger_worker::lose(chunk_map::iterator at) {
  for (auto row = at->first; row < at->second.bound; ++row)
    drop(row, at->second.rows[row - at->first]);
  return chunks_.erase(at);
}

} // namespace superstep::detail

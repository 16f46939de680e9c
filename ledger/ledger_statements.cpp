// SPDX-License-Identifier: Apache-2.0
// The state machine of a worker: which statement is next, and what its answer changes.
#include "ledger_worker.hpp"

#include <superstep/base/detail/assert.hpp>

#include <algorithm>
#include <array>

namespace superstep::detail {

namespace {

/// Share of the time between two commits of all workers that the server spends with one commit. A
/// commit whose duration is d makes each of n workers wait for 2 * n * d until its next one, so
/// that commits take at most half of the time of a server that handles one at a time.
constexpr auto load_factor = 2.0;
constexpr auto newest_weight = 0.2; ///< of a measurement in a smoothed value

/// Longest time between two attempts to lease without success.
constexpr auto idle_poll_max = std::chrono::seconds{10};
constexpr auto idle_members = 16U; ///< workers from which on they poll less often
constexpr auto beat_min = std::chrono::seconds{5};
constexpr auto beat_per_member = std::chrono::milliseconds{500};

} // namespace

/// The only function that changes the phase.
void ledger_worker::become(phase next) {
  using enum phase;
  constexpr auto count = std::size_t{4};
  // Rows: the present phase; columns: the phases connecting, idle, busy, stopped.
  static constexpr auto allowed = std::array<std::array<bool, count>, count>{{
      {false, false, true, true},  // connecting
      {false, false, true, true},  // idle
      {true, true, false, false},  // busy
      {false, false, false, false} // stopped
  }};
  SUPERSTEP_ASSERT(allowed[static_cast<std::size_t>(phase_)][static_cast<std::size_t>(next)]);
  phase_ = next;
}

ledger_action ledger_worker::begin(ledger_action action, ledger_time now) {
  become(phase::busy);
  begun_ = now;
  return action;
}

void ledger_worker::end_statement(shared_job_state job) {
  become(phase::idle);
  job_ = job;
}

std::chrono::nanoseconds ledger_worker::commit_interval() const noexcept {
  const auto wait = std::chrono::nanoseconds{
      static_cast<std::int64_t>(load_factor * latency_ * static_cast<double>(members_))};
  return std::min<std::chrono::nanoseconds>(
      std::max<std::chrono::nanoseconds>(wait, options_.interval_min), options_.lease / 6);
}

/// Returns the time between two signs of life, at most half of a lease.
std::chrono::nanoseconds ledger_worker::beat_interval() const noexcept {
  return std::min<std::chrono::nanoseconds>(
      std::max<std::chrono::nanoseconds>(members_ * beat_per_member, beat_min), options_.lease / 2);
}

/// Returns a time between 75 % and 125 % of `pause`, so that workers do not act in step.
std::chrono::nanoseconds ledger_worker::jittered(std::chrono::nanoseconds pause) {
  return std::chrono::nanoseconds{std::uniform_int_distribution<std::int64_t>{
      pause.count() * 3 / 4, pause.count() * 5 / 4}(random_)};
}

/// Returns when the first lease must be renewed.
ledger_time ledger_worker::renewal_due() const {
  auto due = ledger_time::max();
  for (const auto& [first, each] : chunks_)
    due = std::min<ledger_time>(due, each.until - options_.lease / 2);
  return due;
}

bool ledger_worker::has_unread() const {
  return std::ranges::any_of(chunks_, [](const auto& each) { return !each.second.is_read; });
}

bool ledger_worker::is_commit_due(ledger_time now) const {
  if (now >= renewal_due())
    return true;
  auto waiting = std::size_t{0};
  auto ready = std::size_t{0};
  for (const auto& [first, each] : chunks_) {
    if (each.is_read && each.open() == 0) // all its rows were stored before, by another worker
      return true;
    waiting += each.count(row_state::ended);
    ready += each.count(row_state::ready);
  }
  // A worker in which no row runs or may start has no reason to wait for more of them.
  const auto is_last = running_ == 0 && (ready == 0 || !may_start());
  return waiting > 0 && (now >= next_commit_ || waiting >= options_.rows_max || is_last);
}

/// Returns a commit that renews all leases and contains the rows that have ended.
commit_action ledger_worker::commit_of() {
  auto out = commit_action{};
  auto room = options_.rows_max;
  for (auto& [first, each] : chunks_) {
    auto rows = std::vector<std::uint64_t>{};
    auto next = each.is_read ? each.bound : first;
    for (auto row = first; row < each.bound; ++row) {
      const auto state = each.rows[row - first];
      if (state == row_state::ready)
        next = std::min(next, row);
      if (state != row_state::ended || room == 0)
        continue;
      set(each, first, row, row_state::committing);
      rows.push_back(row);
      --room;
    }
    out.parts.push_back({.first = first, .fence = each.fence, .next = next});
    out.rows.push_back(std::move(rows));
  }
  return out;
}

/// Returns the number of chunks to lease now, so that the worker has the rows that it stores within
/// options_.ahead, or a second chunk with rows to start. To lease several chunks in a statement, it
/// waits until half of these rows have started. Rows that run for a long time keep their chunks
/// open; if there is therefore no room for all of these chunks, it waits until it needs one.
std::uint32_t ledger_worker::wanted_chunks() const {
  if (!may_start() || chunks_.size() >= options_.chunks_max)
    return 0;
  auto startable = std::size_t{0};
  auto ready = std::size_t{0};
  for (const auto& [first, each] : chunks_) {
    const auto rows = each.is_read ? each.count(row_state::ready) : each.bound - first;
    startable += rows > 0 ? 1U : 0U;
    ready += rows;
  }
  if (startable > 0 && !may_lease_ahead_)
    return 0;
  const auto room = options_.chunks_max - chunks_.size();
  const auto work =
      static_cast<std::size_t>(rate_ * std::chrono::duration<double>(options_.ahead).count());
  const auto by_rate = work > ready ? (work - ready) / rows_per_chunk_ : 0;
  if (startable > 1 && (ready > work / 2 || by_rate > room))
    return 0;
  const auto wanted = std::max<std::size_t>(by_rate, startable <= 1 ? 1 : 0);
  return static_cast<std::uint32_t>(std::min<std::size_t>(wanted, room));
}

/// Returns the number of rows of a new chunk that would start at once.
std::uint32_t ledger_worker::free_slots() const {
  auto used = running_;
  for (const auto& [first, each] : chunks_)
    used += each.is_read ? each.count(row_state::ready) : each.bound - first;
  return static_cast<std::uint32_t>(options_.concurrency - std::min(used, options_.concurrency));
}

ledger_action ledger_worker::next(ledger_time now) {
  SUPERSTEP_ASSERT(phase_ != phase::busy);
  switch (phase_) {
  case phase::connecting:
    return next_of_connecting(now);
  case phase::idle:
    return next_of_idle(now);
  case phase::busy:
  case phase::stopped:
    break;
  }
  return stop_action{};
}

std::vector<leased_chunk> ledger_worker::held() const {
  auto out = std::vector<leased_chunk>{};
  for (const auto& [first, each] : chunks_)
    out.push_back({first, each.bound, each.fence});
  return out;
}

ledger_action ledger_worker::give_up() {
  for (auto at = chunks_.begin(); at != chunks_.end();)
    at = lose(at);
  SUPERSTEP_ASSERT(ended_ == 0);
  become(phase::stopped);
  return stop_action{};
}

ledger_action ledger_worker::next_of_connecting(ledger_time now) {
  if (lost_at_ && now - *lost_at_ >= options_.patience) {
    has_given_up_ = true;
    return give_up();
  }
  if (is_draining_ && chunks_.empty() && running_ == 0)
    return give_up();
  if (now < next_connect_)
    return pause_action{next_connect_};
  return begin(resolve_action{held()}, now);
}

ledger_action ledger_worker::next_of_idle(ledger_time now) {
  if (must_resolve_)
    return begin(resolve_action{held()}, now);
  if (is_commit_due(now)) {
    committing_ = commit_of();
    return begin(committing_, now);
  }
  if (must_end() && running_ == 0) {
    SUPERSTEP_ASSERT(ended_ == 0); // is_commit_due() is true until all rows are settled
    if (chunks_.empty()) {
      become(phase::stopped);
      return stop_action{};
    }
    return begin(release_action{held()}, now);
  }
  if (has_unread()) {
    auto unread = read_action{};
    for (const auto& [first, each] : chunks_)
      if (!each.is_read)
        unread.chunks.push_back({first, each.bound, each.fence});
    return begin(std::move(unread), now);
  }
  if (const auto count = wanted_chunks(); count > 0 && now >= next_lease_)
    return begin(lease_action{count, !has_row(now), free_slots()}, now);
  if (now >= next_beat_)
    return begin(beat_action{}, now);
  return wait();
}

/// Returns the time of the next statement if no event comes first.
pause_action ledger_worker::wait() const {
  auto until = std::min(renewal_due(), next_beat_);
  if (ended_ > 0)
    until = std::min(until, next_commit_);
  if (wanted_chunks() > 0)
    until = std::min(until, next_lease_);
  return {until};
}

void ledger_worker::leased(const lease_answer& answer, ledger_time now) {
  end_statement(answer.job);
  members_ = std::max(answer.members, 1U);
  next_beat_ = now + jittered(beat_interval());
  for (const auto& each : answer.chunks)
    adopt(each);
  if (!answer.chunks.empty()) {
    next_lease_ = now;
    return;
  }
  const auto poll = options_.idle_poll * std::max(members_, idle_members) / idle_members;
  next_lease_ = now + jittered(std::min<ledger_time>(poll, idle_poll_max));
}

void ledger_worker::read(std::span<const std::uint64_t> rows, ledger_time /*now*/) {
  end_statement(job_);
  for (auto& [first, into] : chunks_) {
    if (into.is_read)
      continue;
    const auto begin = std::ranges::lower_bound(rows, first);
    const auto end = std::ranges::lower_bound(rows, into.bound);
    fill(first, into, {begin, end});
  }
}

void ledger_worker::measure_commit(ledger_time now) {
  const auto took = static_cast<double>((now - begun_).count());
  latency_ = latency_ == 0 ? took : latency_ + newest_weight * (took - latency_);
  auto rows = std::size_t{0};
  for (const auto& each : committing_.rows)
    rows += each.size();
  next_commit_ = now + commit_interval();
  if (rows == 0)
    return;
  const auto since = std::chrono::duration<double>(now - rate_from_).count();
  if (rate_from_.count() > 0 && since > 0) {
    const auto rate = static_cast<double>(rows) / since;
    rate_ = rate_ == 0 ? rate : rate_ + newest_weight * (rate - rate_);
  }
  rate_from_ = now;
}

void ledger_worker::committed(const commit_answer& answer, ledger_time now) {
  SUPERSTEP_ASSERT(answer.parts.size() == committing_.parts.size());
  end_statement(answer.job);
  measure_commit(now);
  for (auto i = std::size_t{0}; i < answer.parts.size(); ++i) {
    const auto first = committing_.parts[i].first;
    const auto& part = answer.parts[i];
    const auto at = chunks_.find(first);
    SUPERSTEP_ASSERT(at != chunks_.end());
    auto& own = at->second;
    using verdict = part_answer::verdict;
    // An old statement whose connection was lost may have changed the fence although the chunk is
    // still this worker's, so the worker asks before it gives up the rows.
    must_resolve_ = must_resolve_ || part.what == verdict::lost;
    for (const auto row : committing_.rows[i]) {
      const auto is_stored = part.what == verdict::stored;
      set(own, first, row, is_stored ? row_state::settled : row_state::ended);
      if (is_stored)
        settle(row, true);
    }
    if (part.what == verdict::lost)
      continue;
    if (part.bound < own.bound)
      shrink(first, own, part.bound);
    if (part.what == verdict::resized)
      next_commit_ = now;
    else
      own.until = begun_ + options_.lease;
    if (own.is_read && own.open() == 0 && part.what == verdict::stored)
      chunks_.erase(at);
  }
  committing_ = {};
}

void ledger_worker::resolved(const resolve_answer& answer, ledger_time now) {
  end_statement(answer.job);
  reconnects_ += lost_at_ ? 1U : 0U;
  must_resolve_ = false;
  lost_at_.reset();
  backoff_ = {};
  next_lease_ = next_commit_ = now;
  committing_ = {};
  for (auto at = chunks_.begin(); at != chunks_.end();) {
    const auto is_held = std::ranges::any_of(
        answer.chunks, [&](const held_chunk& each) { return each.chunk.first == at->first; });
    at = is_held ? std::next(at) : lose(at);
  }
  for (const auto& each : answer.chunks) {
    const auto at = chunks_.find(each.chunk.first);
    if (at == chunks_.end()) { // the answer of its lease was lost
      adopt(each.chunk);
      continue;
    }
    auto& own = at->second;
    for (auto row = at->first; row < own.bound; ++row) {
      const auto state = own.rows[row - at->first];
      const auto is_stored = std::ranges::binary_search(each.stored, row);
      if (is_stored && (state == row_state::committing || state == row_state::ended)) {
        set(own, at->first, row, row_state::settled);
        settle(row, true);
      } else if (state == row_state::committing) {
        set(own, at->first, row, row_state::ended);
      }
    }
    if (each.chunk.bound < own.bound)
      shrink(at->first, own, each.chunk.bound);
    own.fence = each.chunk.fence;
    own.until = begun_ + options_.lease;
    if (own.is_read && own.open() == 0) // the statement without an answer has stored the last rows
      chunks_.erase(at);
  }
}

void ledger_worker::released() {
  end_statement(job_);
  SUPERSTEP_ASSERT(running_ == 0 && ended_ == 0);
  chunks_.clear();
}

void ledger_worker::beaten(const beat_answer& answer, ledger_time now) {
  end_statement(answer.job);
  members_ = std::max(answer.members, 1U);
  next_beat_ = now + jittered(beat_interval());
}

void ledger_worker::failed(ledger_time now) {
  become(phase::connecting);
  if (!lost_at_)
    lost_at_ = now;
  backoff_ = std::clamp<std::chrono::nanoseconds>(backoff_ * 2, options_.backoff_min,
                                                  options_.backoff_max);
  next_connect_ = now + jittered(backoff_);
}

} // namespace superstep::detail

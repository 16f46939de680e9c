// SPDX-License-Identifier: Apache-2.0
// The state machine of a worker: which statement is next, and what its answer changes.
#include "ledger_worker.hpp"

#include <superstep/base/detail/assert.hpp>

#include <algorithm>
#include <array>

namespace superstep::detail {

namespace {

/// Longest time between two attempts to lease without success.
constexpr auto idle_poll_max = std::chrono::seconds{10};
constexpr auto idle_members = 16U; ///< workers from which on they poll less often
constexpr auto beat_min = std::chrono::seconds{5};
constexpr auto beat_per_member = std::chrono::milliseconds{500};
/// The workers of larger fleets do not count the rows of the job.
constexpr auto counting_members_max = 64U;

} // namespace

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

bool ledger_worker::has_row(ledger_time now) const {
  return may_start() && rows_.has_ready(now);
}

bool ledger_worker::is_out_of_rows() const {
  if (!may_start())
    return false;
  for (const auto& [first, each] : rows_.chunks())
    if (each.startable() > 0)
      return false;
  return found_no_chunk_ || rows_.chunks().size() >= options_.chunks_max;
}

std::optional<std::uint64_t> ledger_worker::take(ledger_time now) {
  return may_start() ? rows_.take(now) : std::nullopt;
}

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
  return std::min<std::chrono::nanoseconds>(
      std::max<std::chrono::nanoseconds>(pace_.interval(members_), options_.interval_min),
      options_.lease / 6);
}

/// Whether signs of life ask for the number of rows that have ended.
bool ledger_worker::counts_rows() const noexcept {
  return members_ <= counting_members_max;
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
  for (const auto& [first, each] : rows_.chunks())
    due = std::min<ledger_time>(due, each.until - options_.lease / 2);
  return due;
}

bool ledger_worker::is_commit_due(ledger_time now) const {
  if (now >= renewal_due() || (are_sums_waiting_ && !rows_.chunks().empty()))
    return true;
  auto waiting = std::size_t{0};
  auto ready = std::size_t{0};
  for (const auto& [first, each] : rows_.chunks()) {
    if (each.is_read && each.open() == 0) // all its rows were stored before, by another worker
      return true;
    waiting += each.count(row_state::ended);
    ready += each.count(row_state::ready);
  }
  // A worker in which no row runs or may start has no reason to wait for more of them.
  const auto is_last = rows_.running() == 0 && (ready == 0 || !may_start());
  const auto is_time = is_commit_awaited_ || now >= next_commit_;
  return waiting > 0 && (is_time || waiting >= options_.rows_max || is_last);
}

/// Returns the number of chunks to lease now, so that the worker has the rows that it stores within
/// options_.ahead, or a second chunk with rows to start. To lease several chunks in a statement, it
/// waits until half of these rows have started. Rows that run for a long time keep their chunks
/// open; if there is therefore no room for all of these chunks, it waits until it needs one.
std::uint32_t ledger_worker::wanted_chunks() const {
  if (!may_start() || rows_.chunks().size() >= options_.chunks_max)
    return 0;
  auto startable = std::size_t{0};
  auto ready = std::size_t{0};
  for (const auto& [first, each] : rows_.chunks()) {
    startable += each.startable() > 0 ? 1U : 0U;
    ready += each.startable();
  }
  if (startable > 0 && !may_lease_ahead_)
    return 0;
  const auto room = options_.chunks_max - rows_.chunks().size();
  const auto work = static_cast<std::size_t>(pace_.rows_per_second() *
                                             std::chrono::duration<double>(options_.ahead).count());
  const auto by_rate = work > ready ? (work - ready) / rows_per_chunk_ : 0;
  if (startable > 1 && (ready > work / 2 || by_rate > room))
    return 0;
  const auto wanted = std::max<std::size_t>(by_rate, startable <= 1 ? 1 : 0);
  return static_cast<std::uint32_t>(std::min<std::size_t>(wanted, room));
}

/// Returns the number of rows that probably start before the next commit.
std::size_t ledger_worker::starting_rows() const {
  return static_cast<std::size_t>(pace_.rows_per_second() *
                                  std::chrono::duration<double>(commit_interval()).count());
}

/// Returns the number of rows of a new chunk that would start at once.
std::uint32_t ledger_worker::free_slots() const {
  auto used = rows_.running();
  for (const auto& [first, each] : rows_.chunks())
    used += each.startable();
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

ledger_action ledger_worker::give_up() {
  rows_.lose_others({});
  SUPERSTEP_ASSERT(rows_.unsettled() == 0);
  become(phase::stopped);
  return stop_action{};
}

ledger_action ledger_worker::next_of_connecting(ledger_time now) {
  if (lost_at_ && now - *lost_at_ >= options_.reconnect_timeout) {
    has_given_up_ = true;
    return give_up();
  }
  if (is_draining_ && rows_.chunks().empty() && rows_.running() == 0)
    return give_up();
  if (now < next_connect_)
    return pause_action{next_connect_};
  return begin(resolve_action{rows_.leases()}, now);
}

ledger_action ledger_worker::next_of_idle(ledger_time now) {
  if (must_resolve_)
    return begin(resolve_action{rows_.leases()}, now);
  if (is_commit_due(now)) {
    committing_ = rows_.begin_commit(options_.rows_max, starting_rows());
    return begin(committing_, now);
  }
  if (must_end() && rows_.running() == 0) {
    SUPERSTEP_ASSERT(rows_.unsettled() == 0); // is_commit_due() is true until all rows are settled
    if (rows_.chunks().empty()) {
      become(phase::stopped);
      return stop_action{};
    }
    return begin(release_action{rows_.leases()}, now);
  }
  if (auto unread = rows_.unread(); !unread.empty())
    return begin(read_action{std::move(unread)}, now);
  if (const auto count = wanted_chunks(); count > 0 && now >= next_lease_)
    return begin(lease_action{count, !has_row(now), free_slots()}, now);
  if (now >= next_beat_)
    return begin(beat_action{counts_rows()}, now);
  // All statements that were due since the connection was lost have succeeded.
  lost_at_.reset();
  backoff_ = {};
  return wait();
}

/// Returns the time of the next statement if no event comes first.
pause_action ledger_worker::wait() const {
  auto until = std::min(renewal_due(), next_beat_);
  if (rows_.unsettled() > 0)
    until = std::min(until, next_commit_);
  if (wanted_chunks() > 0)
    until = std::min(until, next_lease_);
  return {until};
}

void ledger_worker::leased(const lease_answer& answer, ledger_time now) {
  end_statement(answer.job);
  members_ = std::max(answer.members, 1U);
  // A lease is a sign of life, too, but does not count rows.
  if (next_beat_.count() == 0 || !counts_rows())
    next_beat_ = now + jittered(beat_interval());
  for (const auto& each : answer.chunks) {
    rows_.adopt(each, begun_ + options_.lease);
    rows_per_chunk_ = each.bound - each.first;
  }
  found_no_chunk_ = answer.chunks.empty();
  if (!found_no_chunk_) {
    next_lease_ = now;
    return;
  }
  const auto poll = options_.idle_poll * std::max(members_, idle_members) / idle_members;
  next_lease_ = now + jittered(std::min<ledger_time>(poll, idle_poll_max));
}

void ledger_worker::read(std::span<const std::uint64_t> rows, ledger_time /*now*/) {
  end_statement(job_);
  rows_.fill(rows);
}

void ledger_worker::committed(const commit_answer& answer, ledger_time now) {
  SUPERSTEP_ASSERT(answer.parts.size() == committing_.parts.size());
  end_statement(answer.job);
  auto count = std::size_t{0};
  for (const auto& each : committing_.rows)
    count += each.size();
  pace_.add(begun_, now, count);
  next_commit_ = now + commit_interval();
  for (auto i = std::size_t{0}; i < answer.parts.size(); ++i) {
    const auto first = committing_.parts[i].first;
    const auto& part = answer.parts[i];
    using verdict = part_answer::verdict;
    rows_.end_commit(first, committing_.rows[i], part.what == verdict::stored);
    switch (part.what) {
    case verdict::lost:
      // An old statement whose connection was lost may have changed the fence although the chunk is
      // still this worker's, so the worker asks before it gives up the rows.
      must_resolve_ = true;
      break;
    case verdict::resized:
      rows_.cut(first, part.bound);
      next_commit_ = now;
      break;
    case verdict::stored:
      rows_.cut(first, part.bound);
      rows_.renew(first, begun_ + options_.lease);
      rows_.remove_if_settled(first);
      break;
    }
  }
  committing_ = {};
  // The driver may wait for more rows than fit into a commit.
  is_commit_awaited_ = is_commit_awaited_ && rows_.unsettled() > 0;
}

void ledger_worker::resolved(const resolve_answer& answer, ledger_time now) {
  end_statement(answer.job);
  must_resolve_ = false;
  next_lease_ = next_commit_ = now;
  committing_ = {};
  rows_.lose_others(answer.chunks);
  for (const auto& each : answer.chunks) {
    if (!rows_.chunks().contains(each.chunk.first)) // the answer of its lease was lost
      rows_per_chunk_ = each.chunk.bound - each.chunk.first;
    rows_.resolve(each, begun_ + options_.lease);
  }
}

void ledger_worker::released() {
  end_statement(job_);
  rows_.clear();
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

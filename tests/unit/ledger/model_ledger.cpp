// SPDX-License-Identifier: Apache-2.0
// A ledger in memory. Each function corresponds to one function of the schema.
#include "model_ledger.hpp"

#include <superstep/base/detail/assert.hpp>

#include <algorithm>

namespace superstep::testing {

using namespace detail;

model_ledger::model_ledger(std::uint64_t rows, std::uint64_t chunk_rows, time lease)
    : outputs_(rows), lease_{lease} {
  for (auto first = std::uint64_t{0}; first < rows; first += chunk_rows) {
    auto& made = chunks_[first];
    made.bound = std::min(rows, first + chunk_rows);
    made.next = first;
    open_[first] = &made;
  }
}

shared_job_state model_ledger::state_of() const {
  return state_ == shared_job_state::open && is_finished() ? shared_job_state::finished : state_;
}

/// Remembers the state of a chunk before the present statement.
void model_ledger::note(std::uint64_t first) {
  const auto found = chunks_.find(first);
  undo_.back().push_back(
      {first, found == chunks_.end(), found == chunks_.end() ? chunk{} : found->second});
}

spent_sums model_ledger::spent_by_others(const std::string& worker) const {
  const auto found = spent_by_.find(worker);
  const auto own = found == spent_by_.end() ? spent_sums{} : found->second;
  return {.cost = spent_.cost - own.cost, .tokens = spent_.tokens - own.tokens};
}

/// Changes a chunk and the indexes of chunks by state.
void model_ledger::change(std::uint64_t first, chunk& from, chunk to) {
  open_.erase(first);
  leased_.erase(first);
  done_chunks_ -= from.state == 2 ? 1U : 0U;
  from = std::move(to);
  if (from.state == 0)
    open_[first] = &from;
  if (from.state == 1)
    leased_[first] = &from;
  done_chunks_ += from.state == 2 ? 1U : 0U;
}

std::uint32_t model_ledger::see(const std::string& worker, time now) {
  seen_[worker] = now;
  if (seen_.size() > 64) // forget workers that are away, as counting them has no other effect
    std::erase_if(seen_, [&](const auto& each) { return each.second <= now - lease_; });
  return static_cast<std::uint32_t>(
      std::ranges::count_if(seen_, [&](const auto& each) { return each.second > now - lease_; }));
}

leased_chunk model_ledger::take(std::uint64_t first, const std::string& worker,
                                std::uint32_t starting, time now) {
  note(first);
  auto& taken = chunks_.at(first);
  auto next = taken;
  next.state = 1;
  next.worker = worker;
  ++next.fence;
  next.until = now + lease_;
  next.next = std::min(first + starting, next.bound);
  change(first, taken, std::move(next));
  return {first, taken.bound, taken.fence};
}

bool model_ledger::split(const std::string& worker, std::uint32_t starting, time now,
                         lease_answer& into) {
  auto best = leased_.end();
  const auto left = [](const chunk& of) {
    return of.bound > of.next ? of.bound - of.next : std::uint64_t{0};
  };
  for (auto at = leased_.begin(); at != leased_.end(); ++at)
    if (at->second->worker != worker && left(*at->second) >= 2 &&
        (best == leased_.end() || left(*at->second) > left(*best->second)))
      best = at;
  if (best == leased_.end())
    return false;
  const auto first = best->first;
  auto& from = chunks_.at(first);
  const auto middle = from.next + (from.bound - from.next + 1) / 2;
  auto upper = chunk{};
  upper.bound = from.bound;
  upper.fence = 1;
  upper.worker = worker;
  upper.until = now + lease_;
  upper.next = std::min(middle + starting, upper.bound);
  for (auto row = middle; row < from.bound; ++row) {
    upper.sums[0] += outputs_[row] == 1 ? 1 : 0;
    upper.sums[1] += outputs_[row] == 2 ? 1 : 0;
  }
  const auto is_full = [](const chunk& of, std::uint64_t begin) {
    return static_cast<std::uint64_t>(of.sums[0] + of.sums[1]) == of.bound - begin;
  };
  upper.state = is_full(upper, middle) ? 2 : 1;
  note(first);
  auto lower = from;
  lower.bound = middle;
  lower.sums[0] -= upper.sums[0];
  lower.sums[1] -= upper.sums[1];
  lower.state = is_full(lower, first) ? 2 : 1;
  change(first, from, std::move(lower));
  note(middle);
  auto& made = chunks_[middle];
  change(middle, made, std::move(upper));
  if (made.state != 1)
    return false;
  into.chunks.push_back({middle, made.bound, made.fence});
  return true;
}

lease_answer model_ledger::lease(const std::string& worker, std::uint32_t count, bool may_split,
                                 std::uint32_t starting, time now) {
  auto out = lease_answer{
      .job = state_, .members = see(worker, now), .chunks = {}, .spent = spent_by_others(worker)};
  undo_.emplace_back();
  if (state_ == shared_job_state::open) {
    while (out.chunks.size() < count && !open_.empty())
      out.chunks.push_back(take(open_.begin()->first, worker, starting, now));
    if (out.chunks.empty()) {
      auto expired = std::vector<std::uint64_t>{};
      for (const auto& [first, held] : leased_)
        if (held->until < now && expired.size() < count)
          expired.push_back(first);
      for (const auto first : expired)
        out.chunks.push_back(take(first, worker, starting, now));
    }
    if (out.chunks.empty() && may_split)
      split(worker, starting, now, out);
  }
  if (out.chunks.empty())
    out.job = state_of();
  return out;
}

std::vector<std::uint64_t> model_ledger::read(const std::vector<leased_chunk>& chunks) const {
  auto out = std::vector<std::uint64_t>{};
  for (const auto& each : chunks)
    for (auto row = each.first; row < each.bound; ++row)
      if (outputs_[row] == 0)
        out.push_back(row);
  std::ranges::sort(out);
  return out;
}

commit_answer model_ledger::commit(const std::string& worker, const commit_request& request,
                                   time now) {
  undo_.clear(); // the write-ahead log is synced up to this statement
  auto out = commit_answer{};
  auto is_done = false;
  for (auto i = std::size_t{0}; i < request.parts.size(); ++i) {
    const auto& part = request.parts[i];
    auto last = std::int64_t{-1};
    for (const auto& row : request.rows)
      if (row.part == i)
        last = std::max(last, static_cast<std::int64_t>(row.row));
    const auto at = leased_.find(part.first);
    if (at == leased_.end() || at->second->fence != part.fence || at->second->worker != worker) {
      out.parts.push_back({part_answer::verdict::lost, 0});
      continue;
    }
    auto& held = *at->second;
    if (last >= static_cast<std::int64_t>(held.bound)) {
      out.parts.push_back({part_answer::verdict::resized, held.bound});
      continue;
    }
    auto next = held;
    for (auto k = std::size_t{0}; k < next.sums.size(); ++k)
      next.sums[k] += part.sums[k];
    for (auto* const into : {&spent_, &spent_by_[worker]}) {
      into->cost += part.sums[9];
      into->tokens += part.sums[7];
    }
    next.until = now + lease_;
    next.next = std::max(next.next, part.next);
    if (static_cast<std::uint64_t>(next.sums[0] + next.sums[1]) == next.bound - part.first)
      next.state = 2;
    is_done = is_done || next.state == 2;
    out.parts.push_back({part_answer::verdict::stored, held.bound});
    change(part.first, held, std::move(next));
    for (const auto& row : request.rows) {
      if (row.part != i)
        continue;
      SUPERSTEP_ASSERT(outputs_.at(row.row) == 0); // no output is stored twice
      outputs_[row.row] = row.is_dead ? 2 : 1;
      ++stored_;
    }
  }
  out.job = is_done ? state_of() : state_;
  out.spent = spent_by_others(worker);
  return out;
}

resolve_answer model_ledger::resolve(const std::string& worker,
                                     const std::vector<leased_chunk>& chunks, time now) {
  undo_.emplace_back();
  auto out = resolve_answer{.job = state_of(), .chunks = {}, .spent = spent_by_others(worker)};
  auto mine = std::vector<std::uint64_t>{};
  for (const auto& [first, held] : leased_)
    if (held->worker == worker)
      mine.push_back(first);
  for (const auto& each : chunks)
    if (const auto at = chunks_.find(each.first); at != chunks_.end() && at->second.state == 2 &&
                                                  at->second.worker == worker &&
                                                  std::ranges::find(mine, each.first) == mine.end())
      mine.push_back(each.first);
  for (const auto first : mine) {
    note(first);
    auto& held = chunks_.at(first);
    auto next = held;
    next.fence += held.state == 1 ? 1U : 0U;
    next.until = now + lease_;
    change(first, held, std::move(next));
    auto answer = held_chunk{{first, held.bound, held.fence}, {}};
    for (auto row = first; row < held.bound; ++row)
      if (outputs_[row] != 0)
        answer.stored.push_back(row);
    out.chunks.push_back(std::move(answer));
  }
  return out;
}

void model_ledger::release(const std::string& worker, const std::vector<leased_chunk>& chunks) {
  undo_.clear();
  for (const auto& each : chunks) {
    const auto at = leased_.find(each.first);
    if (at == leased_.end() || at->second->fence != each.fence || at->second->worker != worker)
      continue;
    auto& held = *at->second;
    auto next = held;
    next.state = 0;
    next.worker.clear();
    next.until = {};
    change(each.first, held, std::move(next));
  }
  seen_.erase(worker);
}

beat_answer model_ledger::beat(const std::string& worker, bool with_counts, time now) {
  undo_.emplace_back();
  auto out = beat_answer{.members = see(worker, now), .spent = spent_by_others(worker)};
  auto expired = std::vector<std::uint64_t>{};
  for (const auto& [first, held] : leased_)
    if (held->until < now)
      expired.push_back(first);
  for (const auto first : expired) {
    note(first);
    auto& held = chunks_.at(first);
    auto next = held;
    next.state = 0;
    next.worker.clear();
    next.until = {};
    change(first, held, std::move(next));
  }
  if (with_counts)
    for (const auto& [first, each] : chunks_) {
      out.done += static_cast<std::uint64_t>(each.sums[0] + each.sums[1]);
      out.dead += static_cast<std::uint64_t>(each.sums[1]);
    }
  out.job = state_of();
  return out;
}

void model_ledger::crash(std::size_t kept) {
  while (undo_.size() > kept) {
    for (auto at = undo_.back().rbegin(); at != undo_.back().rend(); ++at) {
      auto& now = chunks_.at(at->first);
      if (!at->is_new) {
        change(at->first, now, at->before);
        continue;
      }
      change(at->first, now, chunk{});
      open_.erase(at->first);
      chunks_.erase(at->first);
    }
    undo_.pop_back();
  }
}

} // namespace superstep::testing

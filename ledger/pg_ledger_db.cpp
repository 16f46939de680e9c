// SPDX-License-Identifier: Apache-2.0
// The statements of a worker, each a call of one function of the schema.
#include "pg_ledger_db.hpp"

#include <superstep/base/detail/assert.hpp>

#include <algorithm>

namespace superstep::detail {
namespace {

shared_job_state state_of(std::string_view text) {
  using enum shared_job_state;
  if (text == "open")
    return open;
  if (text == "finished")
    return finished;
  if (text == "paused")
    return paused;
  // The state is null if the job was dropped.
  return text == "loading" ? loading : cancelled;
}

template <class Number, class Entries, class Member>
std::vector<Number> column_of(const Entries& entries, Member member) {
  auto out = std::vector<Number>{};
  out.reserve(entries.size());
  for (const auto& each : entries)
    out.push_back(static_cast<Number>(each.*member));
  return out;
}

template <class Number>
void add(pg_parameters& to, const std::vector<Number>& numbers) {
  to.add(std::span<const Number>{numbers});
}

/// Reads the column `o_spent` of an answer; nullopt if the worker has no budget.
std::optional<spent_sums> spent_of(const pg_rows& rows, int column) {
  if (rows.size() == 0 || rows.is_null(0, column))
    return std::nullopt;
  const auto sums = rows.numbers(0, column);
  SUPERSTEP_ASSERT(sums.size() == 2);
  return spent_sums{.cost = sums[0], .tokens = sums[1]};
}

constexpr auto status_dead = std::int16_t{1};
constexpr auto status_in_part = std::int16_t{2};
constexpr auto status_final = std::int16_t{4};
constexpr auto status_unpriced = std::int16_t{8};
constexpr auto status_failed_calls = std::int16_t{16};

std::int16_t status_of(const row_end& row) {
  return static_cast<std::int16_t>(
      (row.is_dead ? status_dead : 0) | (row.is_final ? status_final : 0) |
      (row.is_in_part ? status_in_part : 0) | (row.is_unpriced ? status_unpriced : 0) |
      (row.has_failed_calls ? status_failed_calls : 0));
}

} // namespace

pg_ledger_db::pg_ledger_db(pg_connection& connection, worker_identity identity)
    : connection_{connection}, identity_{std::move(identity)} {}

pg_parameters pg_ledger_db::job_and_worker() const {
  auto out = pg_parameters{};
  out.add(identity_.job);
  out.add(std::string_view{identity_.worker});
  return out;
}

std::int32_t pg_ledger_db::lease_ms() const {
  return static_cast<std::int32_t>(identity_.lease.count());
}

result<lease_answer> pg_ledger_db::lease(std::uint32_t count, bool may_split,
                                         std::uint32_t starting) {
  auto given = job_and_worker();
  given.add(std::string_view{identity_.host});
  given.add(lease_ms());
  given.add(static_cast<std::int32_t>(count));
  given.add(may_split);
  given.add(static_cast<std::int32_t>(starting));
  given.add(identity_.has_budget);
  const auto rows =
      connection_.run("select * from superstep.lease($1, $2, $3, $4, $5, $6, $7, $8)", given);
  if (!rows)
    return rows.error();
  auto out = lease_answer{};
  for (auto i = 0; i < rows->size(); ++i) {
    out.job = state_of(rows->text(i, 0));
    out.members = static_cast<std::uint32_t>(rows->number(i, 1));
    if (!rows->is_null(i, 2))
      out.chunks.push_back({static_cast<std::uint64_t>(rows->number(i, 2)),
                            static_cast<std::uint64_t>(rows->number(i, 3)),
                            static_cast<std::uint32_t>(rows->number(i, 4))});
  }
  out.spent = spent_of(*rows, 5);
  std::ranges::sort(out.chunks, {}, &leased_chunk::first); // the server returns them in any order
  return out;
}

result<std::vector<input_text>> pg_ledger_db::read(const std::vector<leased_chunk>& chunks) {
  auto given = pg_parameters{};
  given.add(identity_.job);
  add(given, column_of<std::int64_t>(chunks, &leased_chunk::first));
  add(given, column_of<std::int64_t>(chunks, &leased_chunk::bound));
  const auto rows = connection_.run("select * from superstep.read($1, $2, $3)", given);
  if (!rows)
    return rows.error();
  auto out = std::vector<input_text>{};
  out.reserve(static_cast<std::size_t>(rows->size()));
  for (auto i = 0; i < rows->size(); ++i)
    out.push_back({static_cast<std::uint64_t>(rows->number(i, 0)),
                   static_cast<std::uint64_t>(rows->number(i, 1)), std::string{rows->text(i, 2)},
                   static_cast<std::uint32_t>(rows->number(i, 3))});
  std::ranges::sort(out, {}, &input_text::row); // the server returns them in any order
  return out;
}

result<commit_answer> pg_ledger_db::commit(const commit_request& request) {
  auto last = std::vector<std::int64_t>(request.parts.size(), -1);
  auto sums = std::vector<std::int64_t>{};
  for (const auto& part : request.parts)
    sums.insert(sums.end(), part.sums.begin(), part.sums.end());
  auto parts = std::vector<std::int32_t>{};
  auto statuses = std::vector<std::int16_t>{};
  for (const auto& row : request.rows) {
    last[row.part] = std::max(last[row.part], static_cast<std::int64_t>(row.row));
    parts.push_back(static_cast<std::int32_t>(row.part) + 1);
    statuses.push_back(status_of(row));
  }
  auto given = job_and_worker();
  given.add(lease_ms());
  add(given, column_of<std::int64_t>(request.parts, &chunk_part::first));
  add(given, column_of<std::int32_t>(request.parts, &chunk_part::fence));
  add(given, column_of<std::int64_t>(request.parts, &chunk_part::next));
  add(given, last);
  add(given, sums);
  add(given, column_of<std::int64_t>(request.rows, &row_end::row));
  add(given, parts);
  add(given, statuses);
  const auto lines = column_of<std::string_view>(request.rows, &row_end::line);
  const auto dead = column_of<std::string_view>(request.rows, &row_end::dead);
  add(given, lines);
  add(given, dead);
  given.add(identity_.has_budget);
  const auto rows = connection_.run("select * from superstep.commit($1, $2, $3, $4, $5, $6, $7, "
                                    "$8, $9, $10, $11, $12, $13, $14)",
                                    given);
  if (!rows)
    return rows.error();
  auto out = commit_answer{};
  for (auto i = 0; i < rows->size(); ++i) {
    out.job = state_of(rows->text(i, 0));
    out.parts.push_back({static_cast<part_answer::verdict>(rows->number(i, 1)),
                         static_cast<std::uint64_t>(rows->number(i, 2))});
  }
  SUPERSTEP_ASSERT(out.parts.size() == request.parts.size());
  out.spent = spent_of(*rows, 3);
  return out;
}

result<resolve_answer> pg_ledger_db::resolve(const std::vector<leased_chunk>& chunks) {
  auto given = job_and_worker();
  given.add(lease_ms());
  add(given, column_of<std::int64_t>(chunks, &leased_chunk::first));
  given.add(identity_.has_budget);
  const auto rows = connection_.run("select * from superstep.resolve($1, $2, $3, $4, $5)", given);
  if (!rows)
    return rows.error();
  auto out = resolve_answer{};
  for (auto i = 0; i < rows->size(); ++i) {
    out.job = state_of(rows->text(i, 0));
    if (rows->is_null(i, 1))
      continue;
    auto held = held_chunk{};
    held.chunk = {static_cast<std::uint64_t>(rows->number(i, 1)),
                  static_cast<std::uint64_t>(rows->number(i, 2)),
                  static_cast<std::uint32_t>(rows->number(i, 3))};
    for (const auto row : rows->numbers(i, 4))
      held.stored.push_back(static_cast<std::uint64_t>(row));
    out.chunks.push_back(std::move(held));
  }
  out.spent = spent_of(*rows, 5);
  return out;
}

result<void> pg_ledger_db::release(const std::vector<leased_chunk>& chunks) {
  auto given = job_and_worker();
  add(given, column_of<std::int64_t>(chunks, &leased_chunk::first));
  add(given, column_of<std::int32_t>(chunks, &leased_chunk::fence));
  const auto rows = connection_.run("select superstep.release($1, $2, $3, $4)", given);
  return rows ? result<void>{} : rows.error();
}

result<beat_answer> pg_ledger_db::beat(bool with_counts) {
  auto given = job_and_worker();
  given.add(std::string_view{identity_.host});
  given.add(lease_ms());
  given.add(with_counts);
  given.add(identity_.has_budget || with_counts);
  const auto rows = connection_.run("select * from superstep.beat($1, $2, $3, $4, $5, $6)", given);
  if (!rows)
    return rows.error();
  return beat_answer{state_of(rows->text(0, 0)), static_cast<std::uint32_t>(rows->number(0, 1)),
                     static_cast<std::uint64_t>(rows->number(0, 2)),
                     static_cast<std::uint64_t>(rows->number(0, 3)), spent_of(*rows, 4)};
}

} // namespace superstep::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "batch/input_row.hpp"
#include "batch/journal.hpp"
#include "batch/output_line.hpp"
#include "batch/prefix_groups.hpp"
#include "batch/stop_decision.hpp"

#include <superstep/batch/batch.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

namespace superstep::detail {

struct finished_row;

/// Facts about a job when a run of it starts: its rows, and what earlier runs have done.
struct ledger_facts {
  job_identity identity;
  std::uint64_t rows = 0;         ///< rows of the job, including invalid lines
  std::uint64_t wanted = 0;       ///< those of them that batch_options::limit allows
  std::uint64_t ok = 0;           ///< rows that succeeded in earlier runs
  std::uint64_t dead = 0;         ///< rows that failed in earlier runs, without invalid lines
  std::uint64_t bad_lines = 0;    ///< invalid lines in the dead letters
  std::uint64_t other = 0;        ///< rows and lines among them that the input does not have
  std::uint64_t other_failed = 0; ///< those of `other` that failed, with invalid lines
  row_counts counts{};            ///< sums over the rows that have ended in earlier runs
  std::uint64_t rows_with_failed_calls = 0;
};

/// A row to run, or an invalid line of the input.
struct ledger_item {
  row_origin origin;
  result<input_row> row;     ///< the row, or the error of an invalid line
  bool is_duplicate = false; ///< see finished_row::is_duplicate
  std::uint32_t group = prefix_groups::ungrouped;
};

/// Records which rows of a job are left to run and what became of the others. batch_run takes rows
/// from it, and row_writer stores their ends in it, in groups.
///
/// Two threads call a ledger: the feeding thread, which submits rows, and the writer thread. A
/// ledger that shares data between its two halves synchronises them itself.
class job_ledger {
public:
  virtual ~job_ledger() = default;

  /// Returns the facts at the start of this run. May be called by any thread.
  [[nodiscard]] virtual const ledger_facts& facts() const noexcept = 0;
  /// Returns the cost and tokens of the rows of the job that are not part of this run: by default,
  /// those of earlier runs. May be called by any thread.
  [[nodiscard]] virtual row_expenses spent_elsewhere() const {
    return {.cost = facts().counts.cost, .tokens = facts().counts.total_tokens};
  }

  // --- the feeding thread ---

  /// Whether next() may be called. False while no row may run yet although the job is not at its
  /// end; the caller asks again a few milliseconds later.
  [[nodiscard]] virtual bool is_ready() = 0;
  /// Returns the next row to run, or the next invalid line. Returns nullopt at the end of the job,
  /// and after a row that an earlier run has finished, so that the caller can handle stop requests.
  /// @pre is_ready()
  [[nodiscard]] virtual result<std::optional<ledger_item>> next() = 0;
  /// Whether next() has reached the end of the job.
  [[nodiscard]] virtual bool is_at_end() const = 0;
  /// Whether next() may be called for rows long before they start.
  [[nodiscard]] virtual bool can_read_ahead() const = 0;
  /// Reads a row again that next() has returned and whose run did not count.
  [[nodiscard]] virtual result<input_row> reread(const row_origin& row) = 0;
  /// The groups of rows with a common prefix; null if rows are not grouped.
  [[nodiscard]] virtual std::shared_ptr<prefix_groups> groups() const { return nullptr; }
  /// Adds to a progress report what only the ledger knows. Does nothing by default.
  virtual void complete(batch_progress& /*now*/) const {}

  // --- the writer thread ---

  /// Whether no row can start at present although the job is not at its end, because its other rows
  /// belong to other processes. May be called by any thread. False by default.
  [[nodiscard]] virtual bool is_out_of_rows() const { return false; }

  /// Adds records of rows that have started to the current group.
  virtual void add_starts(const std::string& records) = 0;
  /// Adds a row that has ended, or an invalid line, to the current group.
  [[nodiscard]] virtual result<void> add(const finished_row& row) = 0;
  /// Adds what a row has used whose end does not count, so that it runs again, to the current
  /// group. Does nothing by default: then later runs do not know it.
  virtual void add_spent(const row_counts& /*counts*/) {}
  /// Whether the current group is not empty.
  [[nodiscard]] virtual bool has_pending() const noexcept = 0;
  /// Whether the current group is committed without waiting for its time, because it is large or no
  /// further row can join it.
  [[nodiscard]] virtual bool is_full() const noexcept = 0;
  /// Returns the time from the end of one commit to the next one.
  [[nodiscard]] virtual std::chrono::nanoseconds commit_interval() const = 0;
  /// Stores the current group durably. Blocks. After an error, the group is discarded.
  [[nodiscard]] virtual result<void> commit() = 0;

  // --- after the writer thread has ended ---

  /// Completes the output. Also called after a failure.
  [[nodiscard]] virtual result<void> finish() = 0;
  /// Fails if something outside of this process has changed what the ledger has stored.
  [[nodiscard]] virtual result<void> verify() const = 0;
  /// Returns the error of a failed run with advice for the user, after saving what can be saved.
  [[nodiscard]] virtual error rescue(const error& why) = 0;
  /// Adds to a summary what only the ledger knows, such as the paths of files.
  virtual void complete(batch_summary& summary) const = 0;
};

/// Stores sums over all rows of a job. The cost is not known if the price of no row is known.
/// @pre `ok` and `failed` of the summary are set
void set_counts(batch_summary& summary, const row_counts& counts);

} // namespace superstep::detail

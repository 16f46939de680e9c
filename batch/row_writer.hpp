// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "failure_watch.hpp"
#include "job_ledger.hpp"
#include "row_table.hpp"

#include <superstep/batch/batch.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace superstep::detail {

/// Totals of the rows that the ledger has stored durably, over all runs of the job. The times are
/// those of this run only.
struct written_totals {
  std::uint64_t ok = 0;
  std::uint64_t dead = 0; ///< failed rows, without invalid lines
  std::uint64_t bad_lines = 0;
  std::uint64_t rows_this_run = 0;
  std::uint64_t rows_with_failed_calls = 0;
  row_counts counts;
  histogram row_times;
  histogram tool_times;
  histogram barrier_waits;
  std::chrono::nanoseconds row_time{0};     ///< sum of row_times
  std::chrono::nanoseconds tool_time{0};    ///< sum of tool_times
  std::chrono::nanoseconds barrier_wait{0}; ///< sum of barrier_waits
  /// Failed rows of this run, by error code. The codes are those of docs/batch-files.md.
  std::map<std::string, std::uint64_t, std::less<>> errors;
  /// The error of the row that failed last in this run, whether its lines are written yet or not;
  /// empty if none has failed.
  std::string last_error;
};

/// The writer thread of a job: decides which finished rows count, and stores them in the ledger in
/// groups. A row counts as done only after its group was committed.
///
/// After an error of the ledger, the thread stores nothing more and only removes rows from the
/// table.
class row_writer {
public:
  using time_point = std::chrono::steady_clock::time_point;

  /// All arguments must outlive the writer.
  /// @param is_aborting whether this job has cancelled its rows; cancelled rows are then not
  ///   stored and run again when the job is resumed
  row_writer(row_table& table, job_ledger& ledger, const stop_rules& rules,
             const std::atomic<bool>& is_aborting);
  ~row_writer();
  row_writer(const row_writer&) = delete;
  row_writer& operator=(const row_writer&) = delete;

  /// Starts the thread. Fails if the system has no thread left.
  [[nodiscard]] result<void> start();
  /// Waits until everything is written, or until a time. Returns whether everything is written.
  /// @pre start() has succeeded
  [[nodiscard]] bool wait_until_written(time_point until);
  /// Waits until everything is written. @pre the table is closed and start() has succeeded
  void join();
  /// Whether the ledger failed, so that not all rows were stored. Call it after join().
  [[nodiscard]] bool has_failed() const noexcept { return has_failed_; }
  /// Returns the totals. May be called by any thread.
  [[nodiscard]] written_totals totals() const;

private:
  void run();
  void write_all();
  void admit(finished_row& row);
  [[nodiscard]] bool is_out_of_rows() const;
  void release();
  void drop(const finished_row& row);
  void drop_held();
  void store(const finished_row& row);
  void note_error(const std::string& text);
  void commit();

  row_table& table_;
  job_ledger& ledger_;
  const std::atomic<bool>& is_aborting_;
  failure_watch watch_;
  std::vector<finished_row> held_; ///< failed rows that wait for a verdict of watch_
  written_totals pending_;         ///< the totals after the current group is committed
  bool has_failed_ = false;
  mutable std::mutex mutex_;
  written_totals totals_;
  bool is_written_ = false;
  std::condition_variable written_;
  std::thread thread_;
};

} // namespace superstep::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "failure_watch.hpp"
#include "input_file.hpp"
#include "job_files.hpp"
#include "row_table.hpp"
#include "row_view.hpp"

#include <superstep/batch/batch.hpp>

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace superstep::detail {

/// Totals of the rows that are safely on disk, over all runs of the job. The times are those of
/// this run only.
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
};

/// The writer thread of a job: formats finished rows and writes them in groups.
///
/// recover() relies on the order within a group: journal (started rows), dead letters, sync,
/// output, sync, journal (finished rows), sync. A row counts as done only after the last sync. Then
/// the rows are passed to the view, if the job has one.
///
/// After a disk error, the thread writes nothing more and only removes rows from the table. The
/// files are then in the same state as after a crash, which recover() can repair.
class row_writer {
public:
  /// All arguments must outlive the writer.
  /// @param is_aborting whether this job has cancelled its rows; cancelled rows are then not
  ///   written and run again when the job is resumed
  /// @param view the output, if it is derived from the rows file; may be null
  row_writer(row_table& table, job_files& files, const input_file& input,
             const batch_options& options, const std::atomic<bool>& is_aborting, row_view* view);
  ~row_writer();
  row_writer(const row_writer&) = delete;
  row_writer& operator=(const row_writer&) = delete;

  /// Starts the thread. Fails if the system has no thread left.
  [[nodiscard]] result<void> start();
  /// Waits until everything is written. @pre the table is closed and start() has succeeded
  void join();
  /// Fails if another process has changed the files since the last group was written. Call it after
  /// join().
  [[nodiscard]] result<void> check_at_end() const;
  /// Returns the totals. May be called by any thread.
  [[nodiscard]] written_totals totals() const;

private:
  using time_point = std::chrono::steady_clock::time_point;

  void run();
  void admit(finished_row& row);
  void release();
  void render(finished_row& row);
  void render_bad_line(const finished_row& row);
  [[nodiscard]] result<void> read_json_line(const row_origin& row);
  [[nodiscard]] bool has_pending() const noexcept;
  void commit();
  [[nodiscard]] result<void> check_files() const;
  result<void> write_group();
  result<void> put(file& into, std::string& bytes, std::string_view name);
  result<void> put_start_records();
  void step(std::string_view name) const;

  row_table& table_;
  job_files& files_;
  const input_file& input_;
  const batch_options& options_;
  const std::atomic<bool>& is_aborting_;
  job_identity identity_;
  // Bytes of the current group, by file: start records, output, dead letters, records of ends.
  std::string starts_;
  std::string output_;
  std::string dead_;
  std::string done_;
  // Sizes that the files will have after the current group.
  std::uint64_t output_end_;
  std::uint64_t dead_end_;
  // Sizes of the files after the last written group.
  std::uint64_t output_size_;
  std::uint64_t dead_size_;
  std::string input_line_; ///< the input line of the row that is rendered
  row_view* view_;
  std::vector<written_row> rows_; ///< rows of the current group, for the view
  failure_watch watch_;
  std::vector<finished_row> held_; ///< failed rows that wait for a verdict of watch_
  written_totals pending_;         ///< the totals after the current group is written
  bool has_failed_ = false;
  mutable std::mutex mutex_;
  written_totals totals_;
  std::thread thread_;
};

} // namespace superstep::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "job_files.hpp"
#include "row_table.hpp"

#include <superstep/batch/batch.hpp>

#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace superstep::detail {

/// What has reached the disk, over all runs of the job, and the times of this run.
struct written_totals {
  std::uint64_t ok = 0;
  std::uint64_t dead = 0; ///< rows; bad lines are counted apart
  std::uint64_t bad_lines = 0;
  std::uint64_t rows_this_run = 0;
  std::uint64_t rows_with_failed_calls = 0;
  row_counts counts;
  histogram row_times;
  histogram tool_times;
  histogram barrier_waits;
};

/// The writing thread of a job: makes lines of finished rows and gets them onto the disk in groups.
///
/// The order within a group is what recover() relies on: journal (rows begun), dead letters, sync,
/// output, sync, journal (rows done), sync. A row is counted as done only after the last of them.
/// After a disk error it writes nothing more, so that the files end where the journal can explain
/// them, and takes rows from the table only to let them go.
class row_writer {
public:
  /// All three outlive the writer. `is_aborting` says that a cancelled row was cancelled by us: it
  /// stays undone and is not written.
  row_writer(row_table& table, job_files& files, const file& input, const batch_options& options,
             const std::atomic<bool>& is_aborting);
  ~row_writer();
  row_writer(const row_writer&) = delete;
  row_writer& operator=(const row_writer&) = delete;

  /// Starts the thread. An error: the system has none; nothing has been done then.
  [[nodiscard]] result<void> start();
  /// Waits until all is written; the table is closed. @pre start() has succeeded
  void join();
  /// Whether the files are still those that were opened, as long as they were left. The first call
  /// after join().
  [[nodiscard]] result<void> check_at_end() const;
  /// Any thread.
  [[nodiscard]] written_totals totals() const;

private:
  using time_point = std::chrono::steady_clock::time_point;

  void run();
  void render(finished_row& row);
  void render_bad_line(const finished_row& row);
  [[nodiscard]] bool has_pending() const noexcept;
  void commit();
  [[nodiscard]] result<void> check_files() const;
  result<void> write_group();
  result<void> put(file& into, std::string& bytes, std::string_view name);
  result<void> put_start_records();
  void step(std::string_view name) const;

  row_table& table_;
  job_files& files_;
  const file& input_;
  const batch_options& options_;
  const std::atomic<bool>& is_aborting_;
  job_identity identity_;
  // Bytes of the group that is being collected.
  std::string starts_;
  std::string output_;
  std::string dead_;
  std::string done_;
  std::uint64_t output_end_;
  std::uint64_t dead_end_;
  // Sizes that the files have after the last group.
  std::uint64_t output_size_;
  std::uint64_t dead_size_;
  std::string input_line_;
  written_totals pending_; ///< totals once the group is on the disk
  bool has_failed_ = false;
  mutable std::mutex mutex_;
  written_totals totals_;
  std::thread thread_;
};

} // namespace superstep::detail

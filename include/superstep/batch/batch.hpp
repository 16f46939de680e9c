// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/clock.hpp>
#include <superstep/base/distinct_files.hpp>
#include <superstep/base/result.hpp>
#include <superstep/batch/progress.hpp>
#include <superstep/batch/row_runner.hpp>
#include <superstep/batch/summary.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace superstep {

/// The handling of invalid input lines.
enum class on_bad_line : std::uint8_t {
  fail,        ///< nothing runs; every invalid line is reported with its number
  dead_letter, ///< invalid lines are written to the dead letters, and the other rows run
};

/// Texts that identify what a job runs. A job is resumed only if they have not changed since its
/// first run. Any texts will do, because only their digests are stored. The input is added by
/// run_batch().
struct job_fingerprint {
  std::string agent;      ///< name, prompt, version, recursion limit
  std::string tools;      ///< definitions and options of the tools
  std::string model;      ///< chat_model::fingerprint()
  std::string parameters; ///< overrides and limits that change results
};

/// Options of a batch job: those of the command line flags of `superstep run` named at each member.
struct batch_options {
  std::string input;  ///< --input: path of a JSONL file, or "-" for standard input
  std::string output; ///< --output: path; the job's other files are beside it
  on_bad_line bad_lines = on_bad_line::fail; ///< --on-bad-line fail|dead-letter
  bool fresh = false; ///< --fresh: move an earlier job's files aside and start again
  bool force = false; ///< --force: resume although the fingerprint differs
  /// --retry-dead: run failed rows again, except those that are invalid themselves
  bool retry_dead = false;
  std::size_t concurrency = 64;              ///< --concurrency: rows in flight, at least 1
  std::uint64_t limit = 0;                   ///< --limit: rows to start in this run; 0: no limit
  std::chrono::milliseconds row_deadline{0}; ///< --row-deadline-ms: timeout of a row; 0: none
  std::uint32_t recursion_limit = 25;        ///< of rows that do not specify one
  std::size_t line_bytes_max = std::size_t{16} << 20; ///< --max-line-bytes: size of an input line
  std::size_t write_queue_max = 1024;                 ///< finished rows that wait to be written
  std::chrono::milliseconds sync_interval{20}; ///< minimum time between two syncs of the output
  /// --shortage-wait-ms: how long a job in which every row ends with a shortage of the machine
  /// waits for resources before it stops.
  std::chrono::milliseconds shortage_wait{30'000};
  /// After a write error: time that rows in flight have to finish before they are cancelled.
  std::chrono::milliseconds failure_drain{10'000};
  job_fingerprint fingerprint;         ///< what the job runs
  const clock* time = &system_clock(); ///< for job ids and `created`; never for waiting
  /// For tests that inspect the files as a crash would leave them. Called on the writer thread
  /// after every write, sync and rename, with the name of the step. May be empty.
  std::function<void(std::string_view)> on_disk_step;
};

/// Returns the files that a job writes, except checkpoints_path_of(): the output and its
/// companions.
[[nodiscard]] std::vector<used_file> paths_written_by(const std::string& output);
/// Returns the path of the database with the checkpoints of a job's rows: out.job.db. `superstep
/// chat` uses another name for its threads.
[[nodiscard]] std::string checkpoints_path_of(const std::string& output);

/// Stops a job from outside. request() may be called by a signal handler or any thread.
class stop_request {
public:
  /// The urgency of the request.
  enum level : int {
    none,  ///< not at all
    drain, ///< start no more rows; those in flight finish
    abort, ///< cancel the rows in flight; they run again when the job is resumed
  };
  /// Raises the level by one: the first request drains, the second aborts.
  void request() noexcept {
    if (level_.fetch_add(1, std::memory_order_relaxed) >= abort)
      level_.store(abort, std::memory_order_relaxed);
  }
  /// Returns the current level.
  [[nodiscard]] level current() const noexcept {
    auto now = level_.load(std::memory_order_relaxed);
    return now >= abort ? abort : static_cast<level>(now);
  }

private:
  std::atomic<int> level_{none};
};

/// Runs a job, or the rest of one, to completion. Blocks; the calling thread submits the rows and
/// calls `progress`.
///
/// @param options see batch_options
/// @param runner runs the rows; must outlive the call
/// @param progress receives the progress, on the calling thread only
/// @param stop may be changed at any time by other threads and signal handlers
/// @return a summary, also if the job was stopped. An error corresponds to exit_code::failed; its
/// text is for the user. The job can be resumed if it had started.
/// @par Threads
/// One call per output at a time: a lock rejects another call or process with the same output.
[[nodiscard]] result<batch_summary> run_batch(const batch_options& options, row_runner& runner,
                                              progress_sink& progress, const stop_request& stop);

} // namespace superstep

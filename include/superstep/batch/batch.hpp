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

/// What a line that is no row does to the job.
enum class on_bad_line : std::uint8_t {
  fail,        ///< nothing is run: every fault is reported with its line number
  dead_letter, ///< the line goes to the dead letters, the other rows run
};

/// What must not change between the runs of one job, in the words of whoever builds the runner.
/// Any text will do; only digests are kept. The input is added by the batch runner itself.
struct job_fingerprint {
  std::string agent;      ///< name, prompt, version, recursion limit
  std::string tools;      ///< definitions and options of the tools
  std::string model;      ///< chat_model::fingerprint()
  std::string parameters; ///< overrides and limits that change results
};

/// Everything `superstep run` can be told about the job itself. Flag and default at each member.
struct batch_options {
  std::string input;  ///< --input: a JSONL file, or "-" for standard input
  std::string output; ///< --output: a file; its companions stand beside it, see job_paths
  on_bad_line bad_lines = on_bad_line::fail; ///< --on-bad-line fail|dead-letter
  bool fresh = false;                        ///< --fresh: move an earlier job's files aside
  bool force = false;                        ///< --force: go on although the fingerprint differs
  /// --retry-dead: run failed rows again, except those whose fault was in the row itself
  bool retry_dead = false;
  std::size_t concurrency = 64;              ///< --concurrency: rows in flight, at least 1
  std::uint64_t limit = 0;                   ///< --limit: rows begun by this run; 0 = all
  std::chrono::milliseconds row_deadline{0}; ///< --row-deadline-ms, of each row; 0 = none
  std::uint32_t recursion_limit = 25;        ///< of rows that do not say it themselves
  std::size_t line_bytes_max = std::size_t{16} << 20; ///< --max-line-bytes: of one input line
  std::size_t write_queue_max = 1024;                 ///< finished rows that may wait for the disk
  std::chrono::milliseconds sync_interval{20}; ///< least time between two syncs of the output
  /// Wait of a job whose rows all end in a shortage of the machine, before it stops:
  /// --shortage-wait-ms.
  std::chrono::milliseconds shortage_wait{30'000};
  /// Time that rows in flight have to end after the disk has failed, before they are cancelled.
  std::chrono::milliseconds failure_drain{10'000};
  job_fingerprint fingerprint;
  const clock* time = &system_clock(); ///< for run ids and `created`; never for waiting
  /// Called on the writing thread after every write, sync and rename, with a word that says which.
  /// For tests that look at the files as a crash would leave them.
  std::function<void(std::string_view)> on_disk_step;
};

/// The files that a job writes, without checkpoints_path_of(): the output and its companions.
[[nodiscard]] std::vector<used_file> paths_written_by(const std::string& output);
/// The database in which a runner keeps the checkpoints of a job's rows: out.job.db. It is not
/// the name that `superstep chat` uses for threads.
[[nodiscard]] std::string checkpoints_path_of(const std::string& output);

/// How the outside asks a job to end. request() is safe in a signal handler.
class stop_request {
public:
  enum level : int {
    none,
    drain, ///< begin no further row; those in flight end as usual
    abort, ///< cancel the rows in flight; they stay undone
  };
  /// One level further: the first request drains, the second aborts.
  void request() noexcept {
    if (level_.fetch_add(1, std::memory_order_relaxed) >= abort)
      level_.store(abort, std::memory_order_relaxed);
  }
  [[nodiscard]] level current() const noexcept {
    auto now = level_.load(std::memory_order_relaxed);
    return now >= abort ? abort : static_cast<level>(now);
  }

private:
  std::atomic<int> level_{none};
};

/// Runs a job, or the rest of one, to its end. Blocks; the calling thread feeds the rows and
/// drives `progress`. An error means exit_code::failed: its text is for the user, and the job can
/// be resumed when it had begun.
///
/// @par Threads
/// One call per job; another call or process on the same output is refused by a lock.
[[nodiscard]] result<batch_summary> run_batch(const batch_options& options, row_runner& runner,
                                              progress_sink& progress, const stop_request& stop);

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/clock.hpp>
#include <superstep/base/detail/distinct_files.hpp>
#include <superstep/base/error.hpp>
#include <superstep/base/json.hpp>
#include <superstep/batch/row_runner.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace superstep {

/// Counts durations in buckets that are at most 1/16 wide: percentiles in constant memory (8 KB),
/// right within 6 %. Not synchronised.
class histogram {
public:
  void add(std::chrono::nanoseconds duration) noexcept;
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  /// The duration that `share` (0 to 1) of all are not longer than; 0 when there are none.
  [[nodiscard]] std::chrono::nanoseconds percentile(double share) const noexcept;

private:
  static constexpr std::size_t bits = 4; // buckets per power of two: 16
  std::array<std::uint64_t, 64 << bits> buckets_{};
  std::uint64_t count_ = 0;
};

/// What the process that ran a job ends with.
enum class exit_code : int {
  ok = 0,        ///< every row ended well, or there was nothing left to do
  failed = 1,    ///< usage, disk or internal error
  dead_rows = 2, ///< finished; some rows are in the dead letters
  drained = 3,   ///< stopped on request; the same command goes on
  shortage = 4,  ///< stopped by a shortage of the machine or a full disk; the same command resumes
};

/// How a job ended. Row counts are of the whole job over all its runs; so are calls and tokens.
/// Times are of this run alone.
struct batch_summary {
  exit_code code = exit_code::ok;
  bool already_finished = false; ///< there was nothing left to do
  std::string job_id;
  std::uint64_t rows = 0; ///< lines of the input that are not blank
  std::uint64_t ok = 0;
  std::uint64_t failed = 0; ///< rows in the dead letters, bad lines included
  std::uint64_t bad_lines = 0;
  std::uint64_t resumed = 0; ///< done before this run
  std::uint64_t steps = 0;
  std::uint64_t model_calls = 0;
  std::uint64_t tool_calls = 0;
  std::uint64_t rows_with_failed_calls = 0; ///< rows, ok or not, with a tool call that failed
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = 0;
  std::int64_t total_tokens = 0;
  double seconds = 0; ///< of this run
  std::uint64_t rows_this_run = 0;
  histogram row_times;
  histogram tool_times;
  histogram barrier_waits; ///< per row: time finished calls waited for their siblings
  std::string output;      ///< paths, for the closing text
  std::string dead;

  [[nodiscard]] std::uint64_t left() const noexcept {
    const auto done = ok + failed; // with --force, rows of another input may be among them
    return rows > done ? rows - done : 0;
  }
  [[nodiscard]] double rows_per_second() const noexcept {
    return seconds > 0 ? static_cast<double>(rows_this_run) / seconds : 0;
  }
};

/// The closing text, several lines, without a trailing newline.
[[nodiscard]] std::string to_text(const batch_summary&);
/// The content of out.summary.json.
[[nodiscard]] json::object to_json(const batch_summary&);

/// Where a job stands. Counts are of the whole job, rates of this run.
struct batch_progress {
  std::uint64_t rows = 0;
  std::uint64_t done = 0; ///< ok and failed
  std::uint64_t failed = 0;
  std::size_t in_flight = 0;
  std::int64_t tokens = 0;
  double rows_per_second = 0;
  double elapsed_seconds = 0;
  std::optional<double> eta_seconds; ///< unknown before the first row has ended
  std::chrono::nanoseconds p50{0};   ///< of a row
  std::chrono::nanoseconds p95{0};
  bool draining = false;
};

/// Is told now and then how the job stands; called by the thread that called run_batch() only.
class progress_sink {
public:
  virtual ~progress_sink() = default;
  /// How often update() is wanted.
  [[nodiscard]] virtual std::chrono::milliseconds interval() const noexcept = 0;
  virtual void update(const batch_progress& now) = 0;
  /// Something the user should read although the job goes on: "resumed: 400 of 1319 rows are done".
  virtual void note(std::string_view text) = 0;
  /// The last call; ends a line that is still open.
  virtual void finish(const batch_progress& now) = 0;
};

enum class progress_mode : std::uint8_t {
  bar,   ///< one line that rewrites itself, every 200 ms
  plain, ///< a line every 5 s
  json,  ///< a JSON object per line, every second
  none,  ///< notes only
};

/// `auto|bar|plain|json|none`; auto is bar on a terminal, else plain. Empty for any other word.
[[nodiscard]] std::optional<progress_mode> parse_progress_mode(std::string_view word,
                                                               bool is_terminal);

/// Writes to `out`, which outlives the sink: standard error in the command line.
[[nodiscard]] std::unique_ptr<progress_sink> make_progress_sink(progress_mode mode,
                                                                std::ostream& out);

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

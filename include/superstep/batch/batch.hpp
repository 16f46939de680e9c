// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/detail/distinct_files.hpp>
#include <superstep/base/distribution.hpp>
#include <superstep/base/error.hpp>
#include <superstep/base/json.hpp>
#include <superstep/batch/batch_options.hpp>
#include <superstep/batch/detail/stop_rules.hpp>
#include <superstep/batch/row_runner.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace superstep {

/// Exit status of `superstep run`.
enum class exit_code : int {
  ok = 0,        ///< all rows succeeded, or there was nothing left to do
  failed = 1,    ///< usage, disk or internal error
  dead_rows = 2, ///< finished; some rows are in the dead letters
  drained = 3,   ///< stopped on request or by a rule (stop_rules); rerun to resume
  shortage = 4,  ///< stopped for lack of machine resources or disk space; rerun to resume
};

/// The result of a job. Numbers of rows, calls and tokens count the whole job over all its runs.
/// Times are those of this run.
struct batch_summary {
  exit_code code = exit_code::ok; ///< exit status for `superstep run`
  job_stop stop{};                ///< why the job stopped before its end
  bool already_finished = false;  ///< whether there was nothing left to do
  std::string job_id;             ///< id of the job, the same in all its runs
  std::uint64_t rows = 0;         ///< lines of the input that are not blank
  std::uint64_t ok = 0;           ///< rows that succeeded
  std::uint64_t failed = 0;       ///< rows in the dead letters, invalid lines included
  std::uint64_t bad_lines = 0;    ///< invalid lines
  std::uint64_t resumed = 0;      ///< rows that were done before this run
  /// Rows among `resumed` that the input does not have. Other than 0 only if the job was resumed
  /// with a changed input.
  std::uint64_t other = 0;
  /// Rows of this run whose results were not stored, because another process has taken them over.
  /// Other than 0 only for jobs that several processes share.
  std::uint64_t refused = 0;
  std::uint64_t steps = 0;                  ///< super-steps of all rows
  std::uint64_t model_calls = 0;            ///< calls of models
  std::uint64_t tool_calls = 0;             ///< calls of tools, failed ones included
  std::uint64_t rows_with_failed_calls = 0; ///< rows, ok or not, with a failed tool call
  std::int64_t input_tokens = 0;            ///< tokens that the models read
  std::int64_t output_tokens = 0;           ///< tokens that the models wrote
  std::int64_t total_tokens = 0;            ///< sum that the providers reported
  std::uint64_t cached_answers = 0;         ///< answers that came from the answer cache
  std::optional<double> cost{};             ///< US dollars; not set: the price of no row is known
  std::uint64_t rows_unpriced = 0;          ///< rows whose cost is not known
  /// Rows of this run that have failed, by error code, without invalid lines.
  std::map<std::string, std::uint64_t, std::less<>> errors{};
  /// The latest error of this run: of a row that failed, or of model calls that had not succeeded
  /// when the job ended. Empty if there was none.
  std::string last_error{};
  double seconds = 0;              ///< duration of this run in seconds
  std::uint64_t rows_this_run = 0; ///< rows that finished in this run
  histogram row_times;             ///< durations of the rows
  histogram tool_times;            ///< durations of the tool calls
  histogram barrier_waits;         ///< per row: time that finished tool calls waited for others
  std::string output;              ///< path of the output, for to_text()
  /// Path of the dead letters, for to_text(); empty if the job writes to standard output.
  std::string dead;
  std::string retry = "--retry-dead"; ///< option or command that runs failed rows again
  bool is_resumable = true;           ///< false if the job writes to standard output

  /// Returns the number of rows that are neither done nor failed.
  [[nodiscard]] std::uint64_t left() const noexcept {
    const auto done = ok + failed - other;
    return rows > done ? rows - done : 0;
  }
  /// Returns the average number of rows that finished per second of this run; 0 if it took no time.
  [[nodiscard]] double rows_per_second() const noexcept {
    return seconds > 0 ? static_cast<double>(rows_this_run) / seconds : 0;
  }
};

/// Formats the text that `superstep run` prints at its end: several lines, no trailing newline. May
/// be called from any thread.
[[nodiscard]] std::string to_text(const batch_summary&);
/// Returns the content of out.summary.json; docs/batch-files.md describes its members. May be
/// called from any thread.
[[nodiscard]] json::object to_json(const batch_summary&);

/// The progress of a job. Counts are those of the whole job; rates and times are those of this run.
/// `done` and `failed` do not include rows that only an earlier input had.
struct batch_progress {
  std::uint64_t rows = 0;       ///< rows of the input
  std::uint64_t done = 0;       ///< finished rows, failed ones included
  std::uint64_t failed = 0;     ///< rows in the dead letters
  std::size_t in_flight = 0;    ///< rows that are running
  std::int64_t tokens = 0;      ///< tokens used, input and output
  std::optional<double> cost{}; ///< US dollars so far; nullopt if prices are not known
  /// Estimated cost of the whole job in US dollars; nullopt before a row has finished.
  std::optional<double> cost_projected{};
  double rows_per_second = 0;        ///< average rate of this run
  double elapsed_seconds = 0;        ///< time since the start of this run
  std::optional<double> eta_seconds; ///< estimated time left; nullopt before a row has finished
  std::chrono::nanoseconds p50{0};   ///< median duration of a row
  std::chrono::nanoseconds p95{0};   ///< 95th percentile of the duration of a row
  /// Share of the tool calls' time that finished calls waited for others of their super-step, from
  /// 0 to 1; nullopt if no tool was called.
  std::optional<double> barrier_waste{};
  std::string paused{};           ///< why no row starts at the moment; empty if rows start
  std::uint64_t model_calls = 0;  ///< model calls of the rows that have ended
  std::uint64_t tool_calls = 0;   ///< their tool calls
  std::int64_t input_tokens = 0;  ///< tokens that the models read for them
  std::int64_t output_tokens = 0; ///< tokens that the models wrote for them
  /// Rows of this run that have failed, by error code.
  std::map<std::string, std::uint64_t, std::less<>> errors{};
  std::uint64_t retries = 0; ///< attempts of model calls in this run that failed and were repeated
  std::size_t calls_repeating = 0; ///< model calls whose latest attempt failed and is repeated
  std::size_t calls_waiting = 0;   ///< model calls that wait for a limit, for example limits.rpm
  /// The latest error of calls_repeating or, if there are none, of the rows that have failed in
  /// this run. Empty if there was none.
  std::string last_error{};
  histogram row_times{};                    ///< durations of the rows of this run
  histogram tool_times{};                   ///< durations of the tool calls of this run
  std::chrono::nanoseconds row_time{0};     ///< sum of row_times
  std::chrono::nanoseconds tool_time{0};    ///< sum of tool_times
  std::chrono::nanoseconds barrier_wait{0}; ///< time that finished tool calls waited for others
  /// Time in seconds since a row has ended in this run, or since the start of the run.
  double quiet_seconds = 0;
  bool draining = false; ///< whether the job stops: it starts no more rows
};

/// Receives the progress of a job. All members are called by the thread that called run_batch().
class progress_sink {
public:
  virtual ~progress_sink() = default;
  /// Returns the time between two calls of update() that the sink asks for.
  [[nodiscard]] virtual std::chrono::milliseconds interval() const noexcept = 0;
  /// Whether update() is needed before the interval is over, for example because the terminal has
  /// another size now. Called often.
  [[nodiscard]] virtual bool is_outdated() { return false; }
  /// Reports the current progress.
  virtual void update(const batch_progress& now) = 0;
  /// Reports something that the user should know, e.g. "resumed: 400 of 1319 rows are done".
  virtual void note(std::string_view text) = 0;
  /// Reports the final progress and completes an open line of output. No other call follows.
  virtual void finish(const batch_progress& now) = 0;
};

/// The form of the progress output.
enum class progress_mode : std::uint8_t {
  bar,   ///< one line that is rewritten every 200 ms
  plain, ///< a line every 5 s
  json,  ///< a JSON object per line, every second
  none,  ///< notes only
};

/// Parses the value of the flag --progress. May be called from any thread.
/// @param word `auto`, `bar`, `plain`, `json` or `none`
/// @param is_terminal selects the mode for `auto`: bar if true, else plain
/// @return the mode; nullopt for other words
[[nodiscard]] std::optional<progress_mode> parse_progress_mode(std::string_view word,
                                                               bool is_terminal);

/// The terminal of a progress bar. Both functions are called by the thread that calls the sink, and
/// either may be empty.
struct progress_terminal {
  std::function<std::size_t()> columns{}; ///< returns the width in columns; 0 if it is not known
  std::function<bool()> was_resized{};    ///< whether the width has changed since the last call
};

/// Makes a sink that writes lines of text. May be called from any thread.
/// @param mode the form of the output
/// @param out the stream to write to, e.g. std::cerr; must outlive the sink. Only the thread that
/// calls the sink writes to it
/// @param terminal gives the width of a bar, which is a single line; without a width, the line is
/// not cut
[[nodiscard]] std::unique_ptr<progress_sink>
make_progress_sink(progress_mode mode, std::ostream& out, progress_terminal terminal = {});

/// Returns the files that a job writes: the output, and the files that the job keeps beside it. The
/// database of checkpoints_path_of() is not among them. May be called from any thread.
/// @param options `output`, `fields`, `format` and `order` are used
[[nodiscard]] std::vector<used_file> paths_written_by(const batch_options& options);
/// Returns the path of the database with the checkpoints of a job's rows, e.g. out.job.db. May be
/// called from any thread.
/// @param output see batch_options::output
[[nodiscard]] std::string checkpoints_path_of(const std::string& output);

/// A request to stop a job. All members may be called by any thread and by signal handlers.
class stop_request {
public:
  /// The urgency of the request.
  enum level : int {
    none,  ///< no request
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

/// Runs a job, or the rest of an interrupted job, to completion. Blocks; the calling thread submits
/// the rows and calls `progress`.
///
/// @param options see batch_options; `input` and `output` are required
/// @param runner runs the rows; used only during the call
/// @param progress receives the progress, on the calling thread only
/// @param stop may be changed at any time by other threads and signal handlers
/// @return a summary, also if the job was stopped. An error means exit_code::failed, and its text
/// is for the user: errc::invalid_argument for invalid options, an output that another job uses, or
/// a changed fingerprint; errc::parse_failed for invalid input lines; otherwise the code of a file
/// error or of row_runner::begin_job(). A job that has started can be resumed after an error
/// @par Threads
/// Any number of threads may call it for different outputs. A lock rejects a second call or process
/// with the same output.
[[nodiscard]] result<batch_summary> run_batch(const batch_options& options, row_runner& runner,
                                              progress_sink& progress, const stop_request& stop);

} // namespace superstep

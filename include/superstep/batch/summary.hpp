// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>
#include <superstep/batch/histogram.hpp>

#include <cstdint>
#include <string>

namespace superstep {

/// Exit status of `superstep run`.
enum class exit_code : int {
  ok = 0,        ///< all rows succeeded, or there was nothing left to do
  failed = 1,    ///< usage, disk or internal error
  dead_rows = 2, ///< finished; some rows are in the dead letters
  drained = 3,   ///< stopped on request; rerun to resume
  shortage = 4,  ///< stopped for lack of machine resources or disk space; rerun to resume
};

/// The result of a job. Numbers of rows, calls and tokens are of the whole job over all its runs;
/// times are of this run.
struct batch_summary {
  exit_code code = exit_code::ok;
  bool already_finished = false; ///< whether there was nothing left to do
  std::string job_id;            ///< id of the job, the same in all its runs
  std::uint64_t rows = 0;        ///< lines of the input that are not blank
  std::uint64_t ok = 0;          ///< rows that succeeded
  std::uint64_t failed = 0;      ///< rows in the dead letters, invalid lines included
  std::uint64_t bad_lines = 0;   ///< invalid lines
  std::uint64_t resumed = 0;     ///< rows that were done before this run
  std::uint64_t steps = 0;       ///< super-steps
  std::uint64_t model_calls = 0;
  std::uint64_t tool_calls = 0;
  std::uint64_t rows_with_failed_calls = 0; ///< rows, ok or not, with a failed tool call
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = 0;
  std::int64_t total_tokens = 0;
  double seconds = 0;              ///< duration of this run
  std::uint64_t rows_this_run = 0; ///< rows that finished in this run
  histogram row_times;             ///< durations of the rows
  histogram tool_times;            ///< durations of the tool calls
  histogram barrier_waits;         ///< per row: time that finished tool calls waited for others
  std::string output;              ///< path of the output, for to_text()
  std::string dead;                ///< path of the dead letters, for to_text()

  /// Rows that are not done.
  [[nodiscard]] std::uint64_t left() const noexcept {
    const auto done = ok + failed; // with --force, may include rows of another input
    return rows > done ? rows - done : 0;
  }
  /// Average rate of this run.
  [[nodiscard]] double rows_per_second() const noexcept {
    return seconds > 0 ? static_cast<double>(rows_this_run) / seconds : 0;
  }
};

/// Formats the text that `superstep run` prints at its end: several lines, no trailing newline.
[[nodiscard]] std::string to_text(const batch_summary&);
/// Returns the content of out.summary.json; docs/batch-files.md describes its members.
[[nodiscard]] json::object to_json(const batch_summary&);

} // namespace superstep

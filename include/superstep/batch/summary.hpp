// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>
#include <superstep/batch/histogram.hpp>

#include <cstdint>
#include <string>

namespace superstep {

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

} // namespace superstep

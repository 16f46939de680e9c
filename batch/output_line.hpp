// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "batch/input_row.hpp"

#include <superstep/batch/row_runner.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace superstep::detail {

/// What an output line says about a row beside its outcome.
struct row_origin {
  row_shape shape = row_shape::chat;
  std::string key;
  std::string key_name;
  std::uint64_t line = 0;   ///< of the input
  std::uint64_t offset = 0; ///< of that line
  std::uint64_t size = 0;
  std::uint32_t attempt = 1; ///< how often the row has been started, in all runs of the job
  bool has_error = false;    ///< its input line is a dead letter
  bool is_numbered = false;  ///< its input line has no key
};

struct job_identity {
  std::string job_id;
  std::int64_t created = 0;
};

/// The row's line of out.jsonl, newline included.
void append_output_line(std::string& out, const row_origin& row, const row_outcome& outcome,
                        std::chrono::nanoseconds wall, const job_identity& job);

/// Kinds of error in the dead letters of lines that were never run.
inline constexpr std::string_view bad_line_kind = "bad_line";
inline constexpr std::string_view duplicate_key_kind = "duplicate_key";

/// The row's line of out.dead.jsonl: the input line with an `error` member added or replaced, which
/// also names the line of the input.
void append_dead_line(std::string& out, const row_origin& row, std::string_view input_line,
                      const row_error& why);
/// The same for a line that is no row: {"text","error"}; a long text is cut.
void append_bad_line(std::string& out, std::uint64_t line, std::string_view text, const error& why);

} // namespace superstep::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "batch/input_row.hpp"

#include <superstep/batch/row_runner.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace superstep::detail {

/// Facts about a row that are known before it runs: its key and its place in the input. They are
/// used to write its output line and its dead letter.
struct row_origin {
  row_shape shape = row_shape::chat;
  std::string key;
  std::string key_name;
  std::uint64_t line = 0;    ///< line number in the input
  std::uint64_t offset = 0;  ///< position of the line in the input
  std::uint64_t size = 0;    ///< length of the line in bytes
  std::uint64_t place = 0;   ///< the row's place in an output with --order input
  std::uint32_t attempt = 1; ///< how often the row was started, over all runs of the job
  bool has_error = false;    ///< whether the input line may have an `error` member
  bool is_numbered = false;  ///< whether the input line has no key, so its number is the key
  std::string id_member;     ///< name of the member with the key in the input line
  std::uint32_t sample = 0;  ///< number of the sample if the row is repeated, else 0
  std::string columns;       ///< see input_row::columns
  /// Whether the input line may have the key in another member than `id` and `custom_id`, or as a
  /// number. Its dead letter then contains the key in `error.id`.
  bool has_foreign_key = false;
};

/// Stores the facts of a parsed line. Takes the columns out of the row.
void describe(row_origin& origin, input_row& row);

/// Facts about a job that appear in its output lines.
struct job_identity {
  std::string job_id;
  std::int64_t created = 0; ///< seconds since 1970-01-01 UTC
};

/// Returns the number of a row's answers that came from the answer cache. The model with the cache
/// counts them in input_details.
[[nodiscard]] std::uint64_t cached_answers(const token_usage& usage) noexcept;

/// Appends the row's line of out.jsonl, including the newline.
void append_output_line(std::string& out, const row_origin& row, const row_outcome& outcome,
                        std::chrono::nanoseconds wall, const job_identity& job);

/// Values of `error.kind` in dead letters of input lines that were never run.
inline constexpr std::string_view bad_line_kind = "bad_line";
inline constexpr std::string_view duplicate_key_kind = "duplicate_key";

/// Appends the row's line of out.dead.jsonl: the input line with its `error` member added or
/// replaced. A line without a key gets its line number as key, and the line of a repeated row gets
/// the key of its sample. The error contains the line number in the input, the key if
/// row_origin::has_foreign_key is set or key_of() does not find it, and a column `error` of the
/// line.
/// @param input_line the JSON text of the line; for a record of a table, see table_columns::to_json
void append_dead_line(std::string& out, const row_origin& row, std::string_view input_line,
                      const row_error& why);
/// Appends the dead letter of an invalid line: {"text","error"}. A text over 4 KiB is cut.
void append_bad_line(std::string& out, std::uint64_t line, std::string_view text, const error& why);

} // namespace superstep::detail

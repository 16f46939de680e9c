// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "batch/input_row.hpp"
#include "file.hpp"
#include "input_file.hpp"
#include "key_digest.hpp"
#include "line_reader.hpp"
#include "row_selection.hpp"

#include <superstep/batch/batch.hpp>

#include <boost/unordered/unordered_flat_map.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace superstep::detail {

/// A line of the input that is not blank: a valid row, or the error of an invalid line.
struct input_item {
  text_line line;
  result<input_row> row;
  bool is_duplicate = false; ///< whether the only error is that an earlier line has the same key
  std::uint32_t group = 0;   ///< see prefix_groups
};

/// Returns the digest by which a row is selected for a job: that of its id. An invalid line has no
/// id and is selected by its number.
[[nodiscard]] key_digest selection_digest(const input_item& item);

/// Reads and checks the rows of an input one at a time. A job reads its input twice: before the
/// first row runs, and while rows run. Both passes use this class, so that they accept the same
/// lines.
class input_reader {
public:
  /// @param find_duplicates whether a repeated key is an error; this keeps a digest of every key in
  ///   memory
  /// @param end number of bytes to read; lines appended while the job runs are thus ignored
  input_reader(const input_file& from, std::size_t line_bytes_max, bool find_duplicates,
               std::uint64_t end = UINT64_MAX);

  /// Returns the next row or error; nullopt at the end. `line.text` is valid until the next call.
  [[nodiscard]] result<std::optional<input_item>> next();
  /// Reads again a row that next() has returned before. The arguments are its line number, its
  /// position and its length.
  [[nodiscard]] result<input_row> reread(std::uint64_t number, std::uint64_t offset,
                                         std::uint64_t size);
  [[nodiscard]] line_reader& lines() noexcept { return lines_; }
  /// Returns the names of the columns of all rows read so far; see row_parser::columns().
  [[nodiscard]] std::vector<std::string> columns() const { return parser_.columns(); }

private:
  result<input_row> read(const text_line& line);

  const input_file& from_;
  line_reader lines_;
  std::string reread_;
  row_parser parser_;
  std::size_t line_bytes_max_;
  bool find_duplicates_;
  boost::unordered_flat_map<key_digest, std::uint64_t> first_lines_;
};

/// The results of reading the whole input once.
struct input_facts {
  explicit input_facts(const batch_options& options) : selection{options} {}

  row_selection selection; ///< the rows of the input that belong to the job
  row_numbers rows;        ///< numbers of rows of the job, including invalid lines
  std::uint64_t bytes = 0;
  file_version version;             ///< of the input at the start of the scan
  std::string digest;               ///< of all bytes; identifies the input in the journal
  std::string format;               ///< `csv`, also with a delimiter, or `tsv`; empty for JSON
  std::vector<std::string> columns; ///< names of the columns in the output lines; at most 1,000
};

/// Fails if the input was changed since the scan: the rows that are read again would not be those
/// that were checked.
[[nodiscard]] result<void> expect_unchanged(const input_file& input, const input_facts& facts);

/// The consequence of invalid lines that the error of scan_input() states by default.
inline constexpr auto nothing_was_run =
    std::string_view{"nothing was run (--on-bad-line dead-letter writes such lines to the dead "
                     "letters and runs the rest)"};

/// Reads and checks the whole input. With on_bad_line::fail, invalid lines are an error that lists
/// the first of them, also if they do not belong to the rows of the job. Fails with errc::cancelled
/// if `stop` is requested during the check.
/// @param consequence of invalid lines, for the error
[[nodiscard]] result<input_facts> scan_input(const input_file& input, const batch_options& options,
                                             const stop_request& stop,
                                             std::string_view consequence = nothing_was_run);

} // namespace superstep::detail

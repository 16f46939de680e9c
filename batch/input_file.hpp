// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "file.hpp"
#include "line_reader.hpp"
#include "row_format.hpp"

#include <superstep/batch/batch.hpp>
#include <superstep/batch/batch_options.hpp>

#include <cstdint>
#include <functional>
#include <string>

namespace superstep::detail {

/// The open input of a job. Its bytes can be read at any position, any number of times.
struct input_file {
  std::string name; ///< path, or `standard input`; for error texts
  file bytes;       ///< the input; a decompressed or copied one has no name on the disk
  row_format format;
  std::string header;      ///< bytes before the first row: the names of the columns
  std::uint64_t lines = 0; ///< number of lines in `header`

  /// Whether a line consists of white space only, so that it is skipped. Separators of a table's
  /// columns are not white space.
  [[nodiscard]] bool is_blank(std::string_view line) const noexcept;
  /// Returns the part of the file with the rows.
  [[nodiscard]] reading_range rows(std::uint64_t end = UINT64_MAX) const noexcept {
    return {.offset = header.size(),
            .end = end,
            .lines_before = lines,
            .separator = format.columns ? format.columns->separator() : '\0'};
  }
};

/// Opens the input, and reads the names of its columns if it is a table. A pipe can be read only
/// once, but a job reads its input several times, so a pipe is first copied to a file without a
/// name. Gzip is recognised by its first bytes, and decompressed to such a file.
/// @param stop ends the copy of a pipe or a compressed file
/// @return errc::parse_failed if the gzip data is damaged, if the first record is invalid, or if
///   the table lacks a column that the options name; errc::cancelled if `stop` is requested
[[nodiscard]] result<input_file> open_rows(const batch_options& options, const stop_request& stop);

/// Opens a file as open_rows() does, but accepts any columns: for files whose lines are not run.
/// Uses the options `input`, `input_as`, `delimiter`, `line_bytes_max` and `output`.
/// @param is_stopped see copy_decompressed()
[[nodiscard]] result<input_file> open_records(const batch_options& options,
                                              const std::function<bool()>& is_stopped);

/// Returns the text of a file's first line without the byte order mark with which editors on
/// Windows begin UTF-8 files.
[[nodiscard]] std::string_view without_byte_order_mark(std::string_view first_line) noexcept;

/// Returns an error text if the first line of a file shows that the whole file is compressed or in
/// another encoding; otherwise each of its lines would have an error. Else returns an empty text.
[[nodiscard]] std::string find_fault_of_file(std::string_view first_line);

} // namespace superstep::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "batch/input_row.hpp"
#include "file.hpp"
#include "key_digest.hpp"
#include "line_reader.hpp"

#include <superstep/batch/batch.hpp>

#include <boost/unordered/unordered_flat_map.hpp>

#include <optional>
#include <string>

namespace superstep::detail {

/// A non-blank line of the input: a row or an error.
struct input_item {
  text_line line;
  result<input_row> row;
  bool is_duplicate = false; ///< whether the only error is the key of an earlier line
};

/// Reads and checks the rows of an input one at a time. Used before the first row runs and again
/// while rows run, so that both see the same.
class input_reader {
public:
  /// Ends at byte `end`: data appended to the file while the job runs is ignored. Without
  /// `find_duplicates` no keys are stored.
  input_reader(const file& from, std::size_t line_bytes_max, bool find_duplicates,
               std::uint64_t end = UINT64_MAX);

  /// Returns the next row or error; nullopt at the end. Its texts are valid until the next call.
  [[nodiscard]] result<std::optional<input_item>> next();
  /// Reads a row again that next() has returned before.
  [[nodiscard]] result<input_row> reread(std::uint64_t number, std::uint64_t offset,
                                         std::uint64_t size);
  [[nodiscard]] line_reader& lines() noexcept { return lines_; }

private:
  result<input_row> read(const text_line& line);

  const file& from_;
  line_reader lines_;
  std::string reread_;
  row_parser parser_;
  std::size_t line_bytes_max_;
  bool find_duplicates_;
  boost::unordered_flat_map<key_digest, std::uint64_t> first_lines_;
};

/// Facts about an input after reading all of it.
struct input_facts {
  std::uint64_t rows = 0; ///< lines that are not blank
  std::uint64_t bad_lines = 0;
  std::uint64_t bytes = 0;
  std::string digest;
};

/// Checks the whole input. With on_bad_line::fail an error lists the first invalid lines. The error
/// is errc::cancelled if `stop` was requested during the check.
[[nodiscard]] result<input_facts> scan_input(const file& input, const batch_options& options,
                                             const stop_request& stop);

/// Opens the input. One that can be read only once, such as a pipe, is copied to a nameless file.
[[nodiscard]] result<file> open_rows(const batch_options& options);

} // namespace superstep::detail

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

/// A line of the input that is not blank: a row, or what is wrong with it.
struct input_item {
  text_line line;
  result<input_row> row;
  bool is_duplicate = false; ///< a good row whose key an earlier line has
};

/// Reads the rows of an input, one at a time, and checks each: the same way before the first call
/// and again while rows are run.
class input_reader {
public:
  /// Sees nothing from byte `end` on: what is added to the file while the job runs is not part of
  /// it. With `find_duplicates` off no keys are kept.
  input_reader(const file& from, std::size_t line_bytes_max, bool find_duplicates,
               std::uint64_t end = UINT64_MAX);

  /// The next item; its texts are valid until the next call. Empty at the end.
  [[nodiscard]] result<std::optional<input_item>> next();
  /// Reads the row of a line again that next() has returned before.
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

/// What is known of an input after all of it was read once.
struct input_facts {
  std::uint64_t rows = 0; ///< lines that are not blank
  std::uint64_t bad_lines = 0;
  std::uint64_t bytes = 0;
  std::string digest;
};

/// All checks of the whole input. With on_bad_line::fail an error lists the first faults with
/// their line numbers. errc::cancelled when `stop` was asked for meanwhile.
[[nodiscard]] result<input_facts> scan_input(const file& input, const batch_options& options,
                                             const stop_request& stop);

/// Opens the input; one that cannot be read twice (a pipe) is copied to a nameless file first.
[[nodiscard]] result<file> open_rows(const batch_options& options);

} // namespace superstep::detail

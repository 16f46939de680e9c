// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "job_files.hpp"
#include "row_fields.hpp"

#include <superstep/batch/batch.hpp>

#include <boost/unordered/unordered_flat_map.hpp>

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace superstep::detail {

/// A row whose line was written to the rows file.
struct written_row {
  std::uint64_t place = 0; ///< number that row_view::expect() returned
  std::uint64_t begin = 0; ///< position of the line in the rows file
  std::uint64_t end = 0;   ///< position of the end of the line
};

/// The output of a job with `--fields`, `--order input`, CSV or standard output.
///
/// All rows of such a job are first written to the rows file, which the journal describes. This
/// class derives the output from the rows file, so a crash cannot lose or repeat a row: when the
/// job is resumed, the output is written again from its beginning. With `--order input`, a row that
/// ended early is not kept in memory; only its position in the rows file is, in 16 bytes.
class row_view {
public:
  /// @param columns the columns of `--fields` or of a CSV file; nullopt for whole lines
  /// @param stop a request to abort ends the wait for a full pipe
  row_view(job_files& files, const batch_options& options,
           std::optional<std::vector<output_column>> columns, const stop_request& stop);

  /// Whether the output is complete and was written with the same options, so that nothing is left
  /// to do if no row is left to run.
  [[nodiscard]] bool is_current() const;
  /// Opens the output and writes the header. With `--order completion`, writes the rows of earlier
  /// runs; with `--order input`, finds their lines in the rows file. An output that this job did
  /// not write is moved aside.
  [[nodiscard]] result<void> begin();

  // --- the feeding thread, which calls one of these functions for each row in input order ---

  /// Takes the next place of the output for a row that starts now. Returns its number.
  [[nodiscard]] std::uint64_t expect();
  /// Takes the next place of the output for a row that an earlier run has finished.
  void skip(key_digest key);
  /// Whether there are rows of earlier runs, with `--order input`, that were not passed to skip().
  [[nodiscard]] bool has_earlier_rows() const noexcept { return !earlier_.empty(); }

  // --- the writer thread ---

  /// Writes the rows whose turn it is.
  /// @param rows rows whose lines are on the disk, in the order of the rows file
  [[nodiscard]] result<void> add(std::span<const written_row> rows);

  // --- after the writer thread has ended ---

  /// Writes the rows that wait for an earlier row that did not end, and syncs the output.
  [[nodiscard]] result<void> finish();

private:
  /// A line in the rows file; `end` is 0 for a row that has not ended.
  struct line_place {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };

  [[nodiscard]] bool is_of_this_job() const;
  result<void> open();
  result<void> write_earlier_rows();
  result<void> find_earlier_rows();
  std::vector<line_place> take_ready(bool is_last);
  result<void> put(std::span<const line_place> lines);
  result<void> put_line(std::string_view line);
  result<std::string_view> read(line_place line);
  result<void> flush();
  result<void> append_to_pipe();
  result<void> append_to_file();
  [[nodiscard]] result<void> expect_untouched() const;
  result<void> record(std::uint64_t size, std::string_view form);

  job_files& files_;
  bool is_in_input_order_;
  bool is_piped_;
  std::string form_; ///< identifies columns, format and order in the journal
  std::optional<field_writer> fields_;
  const stop_request& stop_;
  file out_;
  std::string bytes_; ///< rows to write
  std::uint64_t size_ = 0;
  bool has_failed_ = false; ///< whether the output could not be written, so that it ends there
  std::string block_;       ///< bytes of the rows file from `block_at_`
  std::uint64_t block_at_ = 0;
  /// Lines of earlier runs that the feeding thread has not passed yet.
  boost::unordered_flat_map<key_digest, line_place> earlier_;
  std::mutex mutex_; ///< protects the members below
  std::deque<line_place> waiting_;
  std::uint64_t first_ = 0; ///< number of the first place in `waiting_`
};

} // namespace superstep::detail

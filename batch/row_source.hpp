// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "journal.hpp"
#include "prefix_groups.hpp"
#include "scan.hpp"

#include <superstep/batch/batch.hpp>

#include <boost/unordered/unordered_flat_set.hpp>

#include <cstdint>
#include <memory>
#include <optional>

namespace superstep::detail {

/// Reads the rows of a job one at a time: those rows of the input that belong to the job, each as
/// many times as it is repeated, up to the limit.
class row_source {
public:
  /// All arguments must outlive the source.
  row_source(const input_file& from, const input_facts& facts, const batch_options& options);

  /// Returns the next row or invalid line; nullopt at the end. `line.text` is valid until the next
  /// call.
  [[nodiscard]] result<std::optional<input_item>> next();
  /// Whether next() may be called: with batch_options::prefix_bytes, it must wait while the first
  /// row of a group runs.
  [[nodiscard]] bool is_ready() const;
  /// The groups of rows; null without batch_options::prefix_bytes.
  [[nodiscard]] const std::shared_ptr<prefix_groups>& groups() const noexcept { return groups_; }
  /// Returns the digest of the key of a row; nullopt for an invalid line. A line that is only too
  /// long for --max-line-bytes has a key: an earlier run may have finished its row.
  [[nodiscard]] std::optional<key_digest> key_of(const input_item& item);
  /// Reads again a row that next() has returned before.
  /// @param sample row_request::sample of the row
  [[nodiscard]] result<input_row> reread(std::uint64_t number, std::uint64_t offset,
                                         std::uint64_t size, std::uint32_t sample);
  /// Whether next() ended because of the limit, so that the job has further rows.
  [[nodiscard]] bool is_limited() const noexcept { return is_limited_; }

private:
  [[nodiscard]] result<std::optional<input_item>> next_of_input();
  [[nodiscard]] result<std::optional<input_item>> next_of_groups();
  [[nodiscard]] std::optional<key_digest> key_of_long_line(const input_item& item);

  input_reader reader_;
  const row_selection& selection_;
  const batch_options& options_;
  row_repeats repeats_;
  std::optional<input_item> repeated_; ///< the row whose next sample is to be returned
  std::uint32_t samples_ = 0;          ///< samples of `repeated_` that were returned
  std::uint64_t rows_ = 0;             ///< rows of the job that were read
  bool is_limited_ = false;
  std::shared_ptr<prefix_groups> groups_; ///< shared with the callbacks of rows
  bool is_grouped_ = false;               ///< whether all rows have been added to groups_
};

/// Numbers of the rows of a job that earlier runs have finished.
struct finished_numbers {
  std::uint64_t all = 0;    ///< with invalid lines in the dead letters
  std::uint64_t failed = 0; ///< those of them that have failed, with invalid lines
};

/// The rows of the input that earlier runs of its job have finished. Rows of an earlier input, with
/// which the job has run before, are not among them.
struct finished_rows {
  boost::unordered_flat_set<key_digest> keys;
  finished_numbers numbers;
};

/// Reads the input to find the rows of the job that are finished.
/// @return the rows; errc::cancelled if `stop` is requested
[[nodiscard]] result<finished_rows>
find_finished_rows(const input_file& from, const input_facts& facts, batch_options options,
                   const journal_content& done, const stop_request& stop);

} // namespace superstep::detail

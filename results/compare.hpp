// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "results/report.hpp"
#include "results/result_line.hpp"

#include <superstep/base/error.hpp>
#include <superstep/base/json.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace superstep::results {

/// The relation between the rows of one id.
enum class row_match : std::uint8_t {
  same,      ///< both succeeded with the same answer, or both failed with the same class of error
  different, ///< the answers differ, or only one row failed
  only_left, ///< the right file has no row with this id
  only_right,
};

/// Returns `same`, `different`, `only left` or `only right`.
[[nodiscard]] std::string_view to_string(row_match) noexcept;

/// The rows of one id. A side is unset if its file has no such row.
struct row_pair {
  std::string key;
  row_match match = row_match::same;
  std::optional<result_line> left;
  std::optional<result_line> right;
};

/// Options of a comparison.
struct compare_options {
  std::size_t rows_max = 20;         ///< rows to keep in comparison::rows
  bool keeps_same = false;           ///< whether rows with equal answers are kept as well
  std::size_t text_bytes = 4 * 1024; ///< bytes of an answer that are kept
  std::string answer;                ///< member that is compared; see read_result_line()
};

/// The result of comparing two output files by row id.
struct comparison {
  std::string left_path;
  std::string right_path;
  std::uint64_t same = 0;
  std::uint64_t different = 0;
  std::uint64_t only_left = 0;
  std::uint64_t only_right = 0;
  std::uint64_t failed_left = 0;  ///< rows that failed only in the left file
  std::uint64_t failed_right = 0; ///< rows that failed only in the right file
  std::uint64_t better_left = 0;  ///< rows with a higher score in the left file
  std::uint64_t better_right = 0; ///< rows with a higher score in the right file
  report left;                    ///< statistics of all rows of the left file
  report right;
  std::vector<row_pair> rows;     ///< the first rows, in the order of the left file
  std::uint64_t rows_omitted = 0; ///< rows that compare_options::rows_max does not leave room for
};

/// Compares two output files. Needs 24 bytes of memory per row of the right file and per row
/// that only the left file has; the rows themselves are read one pair at a time.
///
/// @param see called for each pair; may be empty
/// @return errc::parse_failed if a file has lines without an id or two lines with the same id
[[nodiscard]] result<comparison> compare(const std::string& left, const std::string& right,
                                         const compare_options& options,
                                         const std::function<void(const row_pair&)>& see = {});

/// A line of the table of totals.
struct total {
  std::string_view name; ///< such as `failed rows`
  std::string left;      ///< value of the left file, with its unit
  std::string right;
  std::string change; ///< in percent, of a score in percentage points; `-` if it is not known
};
/// Returns the totals of both files. Values that a file does not have are
/// omitted, except the score.
[[nodiscard]] std::vector<total> totals_of(const comparison&);

/// Whether both files have scores that were made in the same way, as far as it is known.
[[nodiscard]] bool has_comparable_scores(const comparison&) noexcept;
/// Returns why the scores are not compared; empty if they are, or if a file has none.
[[nodiscard]] std::string scores_note(const comparison&);
/// Returns how many rows are not in comparison::rows, and how to list them; empty if there are
/// none.
[[nodiscard]] std::string omitted_rows_note(const comparison&);

/// Returns the comparison as text, without a trailing newline. @param width columns of the terminal
[[nodiscard]] std::string to_text(const comparison&, std::size_t width);
/// Returns the counts and totals as JSON.
[[nodiscard]] json::object to_json(const comparison&);
/// Returns a pair as JSON: id, match, and both answers.
[[nodiscard]] json::object to_json(const row_pair&);
/// Returns the comparison as one HTML file that loads nothing else.
[[nodiscard]] std::string to_html(const comparison&);

/// Returns a text in two columns.
[[nodiscard]] std::string in_columns(std::string_view left, std::string_view right,
                                     std::size_t width);

} // namespace superstep::results

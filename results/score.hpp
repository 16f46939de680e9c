// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "results/result_line.hpp"
#include "results/score_groups.hpp"

#include <superstep/base/error.hpp>
#include <superstep/base/json.hpp>
#include <superstep/batch/batch_options.hpp>

#include <simdjson.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace superstep::results {

/// A way to compare an answer with the expected answer.
enum class score_method : std::uint8_t {
  exact,    ///< equal texts, without white space at both ends
  number,   ///< the last number of the answer equals the last number of the expected answer
  contains, ///< the answer contains the expected answer; ASCII letters match in both cases
  regex,    ///< the expected answer is a regular expression (RE2) that the answer contains
  json,     ///< equal JSON values, independent of the order of keys
  judge,    ///< the answer is that of a judge: its last number, from 0 to 1, is the score
};

/// Returns the method with a name, e.g. `exact`; nullopt if there is none.
[[nodiscard]] std::optional<score_method> score_method_of(std::string_view name) noexcept;
/// Returns the names of all methods.
[[nodiscard]] std::vector<std::string> score_method_names();

/// Whether check_expected() may fail with a method.
[[nodiscard]] bool may_be_unusable(score_method method) noexcept;
/// Fails if no answer can be compared with the expected answer, such as an invalid pattern.
[[nodiscard]] result<void> check_expected(score_method method, const json::value& gold);

/// Compares an answer with the expected answer.
/// @param gold the expected answer; a value that is not a text is compared as JSON text
/// @return 1 if they match, else 0; the error of check_expected()
[[nodiscard]] result<double> score_answer(score_method method, const result_line& row,
                                          const json::value& gold);

/// Returns the score in the answer of a judge: the member `score` of its structured response, else
/// the last number of its answer. nullopt if there is none from 0 to 1.
[[nodiscard]] std::optional<double> judged_score(const result_line& row);

/// Returns the last number in a text: digits with optional sign, thousands separators, fraction and
/// exponent. A hyphen after a letter or a digit is not a sign. nullopt if there is none.
[[nodiscard]] std::optional<double> last_number(std::string_view text);

class gold_files;

/// Options of score_file().
struct score_options {
  std::string output; ///< the output of the job
  /// File with the expected answers by row id, in a format of job inputs; empty: they are in the
  /// columns of the output lines
  std::string gold_file;
  /// The input of the job, which is read for rows whose output line lacks the column; empty: none
  std::string input;
  input_format input_as = input_format::by_name; ///< format of `input`
  char delimiter = '\0'; ///< batch_options::delimiter, for `gold_file` and `input`
  std::string id_field;  ///< batch_options::id_field, for `gold_file` and `input`
  /// batch_options::line_bytes_max, for `input`; lines of `gold_file` may have the default, too
  std::size_t line_bytes_max = batch_options{}.line_bytes_max;
  std::string field;  ///< name of the column; dots lead to nested members
  std::string answer; ///< member that is the answer; see read_result_line()
  score_method method = score_method::exact;
  std::string judge; ///< agent file of the judge that makes the scores; empty: `method` makes them
  /// Files that were read for jobs with the same options except `output`; null: the files are read
  std::shared_ptr<gold_files> files{};
  /// Asked before each line is read; scoring ends with errc::cancelled if it returns true. Empty:
  /// it is not cancelled
  std::function<bool()> is_cancelled{};
};

/// Fails with errc::cancelled if the scores are not wanted any more.
[[nodiscard]] result<void> check_cancelled(const score_options& options);

/// Returns how the scores are made; see scored_by().
[[nodiscard]] std::string scored_by(const score_options& options);

/// The scores of a job.
struct score_summary {
  std::string path;          ///< the file with the scores
  std::uint64_t scored = 0;  ///< rows with a score; failed rows have the score 0
  std::uint64_t failed = 0;  ///< scored rows that failed
  std::uint64_t without = 0; ///< rows without an expected answer
  std::uint64_t unknown = 0; ///< scored rows whose lines do not show how the rows ended
  bool is_torn = false;      ///< whether the output ends with an incomplete line
  score_groups scores;       ///< the scores by the rows of the input
  std::string hint;          ///< advice for the user; empty if there is none
};

/// Returns the path of an output without the extension .jsonl, for the names of files beside it.
[[nodiscard]] std::string stem_of_scores(const std::string& output);

/// Returns the path of the scores beside an output: out.scores.jsonl for out.jsonl.
[[nodiscard]] std::string scores_path_of(const std::string& output);

/// Fails if the path of the scores leads to a file that does not contain scores.
[[nodiscard]] result<void> check_replaced_scores(const std::string& path);

/// Returns the score of a row with an expected answer; nullopt if it has none.
using row_scorer = std::function<result<std::optional<double>>(
    const result_line& row, simdjson::dom::object line, const json::value& gold)>;

/// Scores the rows of an output as score_file() does, with another way to compare answers.
[[nodiscard]] result<score_summary> score_rows(const score_options& options,
                                               const row_scorer& score_of);

/// Scores all rows of an output and replaces the file of scores_path_of(): one line for each row,
/// with `id`, `score`, `status`, `answer`, `gold`, `gold_field` and `method`. Needs 24 bytes of
/// memory per row of the input.
/// @return errc::parse_failed for a gold file that cannot be read, and for an unusable expected
/// answer; errc::not_found if no row has an expected answer; errc::cancelled if it was cancelled.
/// An error leaves the earlier scores unchanged
[[nodiscard]] result<score_summary> score_file(const score_options& options);

/// Returns the mean score with its confidence interval.
[[nodiscard]] inline rate mean_of(const score_summary& s) noexcept {
  return s.scores.interval();
}

/// Returns the text for the terminal: mean, confidence interval and number of rows.
[[nodiscard]] std::string to_text(const score_summary&);

} // namespace superstep::results

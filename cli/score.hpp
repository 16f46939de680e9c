// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "results/score.hpp"

#include <superstep/base/detail/distinct_files.hpp>
#include <superstep/base/error.hpp>
#include <superstep/batch/batch.hpp>
#include <superstep/batch/batch_options.hpp>

#include <CLI/CLI.hpp>

#include <memory>
#include <string>
#include <system_error>
#include <vector>

namespace superstep::cli {

/// The options that select expected answers and how answers are compared with them.
struct gold_options {
  std::string field; ///< empty: no scores
  std::string method = "exact";
  std::string answer;            ///< --answer; empty: the whole answer
  std::string judge;             ///< agent file of a judge; empty: none
  std::string progress = "auto"; ///< --progress, for the job of the judge
  std::string file;              ///< empty: the columns of the output
  /// The input of the job, for expected answers that are not in the output; empty: not known.
  std::string input;
  input_format input_as = input_format::by_name;               ///< format of `input`
  std::string id_field;                                        ///< empty: id or custom_id
  char delimiter = '\0';                                       ///< '\0': a comma
  std::size_t line_bytes_max = batch_options{}.line_bytes_max; ///< of the lines of `input`
  /// Files that the jobs of --matrix share; null for a single job, unless share_pipe() sets it
  std::shared_ptr<results::gold_files> files{};
};

/// Keeps the expected answers of a pipe, because several functions need them and a pipe can be read
/// only once.
void share_pipe(gold_options& gold);

/// Adds --delimiter to a verb.
void add_delimiter(CLI::App& verb, char& into);

/// Adds --answer to a verb.
void add_answer(CLI::App& verb, std::string& into);

/// Adds --gold, --gold-file, --answer, --score and --judge to a verb.
void add_gold_options(CLI::App& verb, gold_options& into);

/// Returns the options of results::score_file().
[[nodiscard]] results::score_options score_options_of(const std::string& output,
                                                      const gold_options& gold);

/// Returns the command that scores the rows of a file.
[[nodiscard]] std::string score_command(const std::string& rows, const gold_options& gold);

/// Adds the files that scoring the rows of an output reads and writes.
void add_score_files(std::vector<used_file>& into, const std::string& output,
                     const gold_options& gold);

/// Fails if scoring would replace a file that it has not written.
[[nodiscard]] result<void> check_replaced_files(const std::string& output,
                                                const gold_options& gold);

/// Returns the exit code for an error of score_output().
[[nodiscard]] exit_code code_of_scores(std::error_code failed) noexcept;

/// Scores the rows of an output, with a job of the judge if there is one, and adds the result to
/// the summary of the job.
/// @return the text for the terminal; errc::cancelled after Ctrl-C or SIGTERM; errc::cancelled and
/// errc::shortage if the judge's job has stopped and can be resumed
[[nodiscard]] result<std::string> score_output(const std::string& output, const gold_options& gold);

} // namespace superstep::cli

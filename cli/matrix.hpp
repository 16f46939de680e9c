// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/run.hpp"

#include <superstep/base/error.hpp>
#include <superstep/batch/detail/stop_rules.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace superstep::cli {

/// One combination of the values of --matrix.
struct matrix_job {
  std::string name;                   ///< e.g. `model=small prompt=short.txt`
  std::string output;                 ///< the job's output, beside that of the command
  std::vector<std::string> overrides; ///< in the form of --set
};

/// Returns all combinations of the values, the last key changing fastest. The keys are those of
/// --set. `model` means `model.model`, and a value of `prompt` that starts with @ names a file
/// with the prompt.
///
/// @param given words such as `model=a,b`
/// @param output path of the command's output; the values are added to it, as in out.a.short.jsonl
/// @return errc::invalid_argument for a word without key or values, a repeated key or value, and
/// for more than 1,000 combinations; errc::io_failed for a file that cannot be read
[[nodiscard]] result<std::vector<matrix_job>> matrix_of(const std::vector<std::string>& given,
                                                        const std::string& output);

/// Returns a note for the user that each job has a budget of its own; empty without a budget.
/// @param jobs number of combinations
[[nodiscard]] std::string budget_note(std::size_t jobs, const stop_rules& rules);

/// Runs the jobs one after the other and prints a table that compares their outputs.
/// If a job did not end, prints the jobs that are left.
/// @param run runs a job
/// @param lines_of returns the file with the JSON lines of a job, which differs from an output in
/// CSV
/// @return the highest exit code. A job that did not end (codes 1, 3 and 4) stops the command. One
/// that --fail-if judged when no row was left does not
int run_matrix(const std::vector<matrix_job>& jobs,
               const std::function<job_end(const matrix_job&)>& run,
               const std::function<std::string(const matrix_job&)>& lines_of);

} // namespace superstep::cli

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "results/score.hpp"

#include <superstep/base/error.hpp>

#include <cstdint>
#include <string>

namespace superstep::results {

/// Fails if a path for the rows of a judge leads to a file that does not contain such rows.
[[nodiscard]] result<void> check_replaced_judge_rows(const std::string& path);

/// Writes the rows that a judge, a model that scores answers, reads: a line for each row that
/// succeeded and has an expected answer, with `id`, `question`, `answer`, `gold` and `columns`. The
/// id contains a digest of the rest, so that a job of the judge repeats no row that it has scored.
/// Replaces the file.
/// @return the number of rows
[[nodiscard]] result<std::uint64_t> write_judge_rows(const score_options& options,
                                                     const std::string& path);

/// Scores the rows of an output by the answers of a judge, and replaces the file of scores. Rows
/// without a usable answer of the judge have no score. Needs 16 bytes of memory per row.
/// @param judged the output of the judge's job
[[nodiscard]] result<score_summary> score_judged(const score_options& options,
                                                 const std::string& judged);

} // namespace superstep::results

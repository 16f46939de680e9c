// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace superstep::results {

/// Returns the path of a file that `superstep run` writes beside the output of a job. If there is
/// none for out.rows.jsonl, this is the rows file of a job, and its other files are those of out.
/// @param ending how the name ends, such as `.summary.json` or `.journal`
/// @return empty if the output is standard output
[[nodiscard]] std::string job_file_of(const std::string& output, std::string_view ending);

} // namespace superstep::results

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/run_options.hpp"

namespace superstep::cli {

/// The end of a job.
struct job_end {
  int code = 0;              ///< exit code of docs/batch-files.md
  bool has_all_rows = false; ///< whether no row is left
};

/// Runs a job, and reports its progress, its summary and its errors to the user.
[[nodiscard]] job_end run_job(const run_arguments& given);

/// Whether the user has stopped a job of this process.
[[nodiscard]] bool is_stop_requested() noexcept;

} // namespace superstep::cli

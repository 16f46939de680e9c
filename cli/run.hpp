// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/run_options.hpp"

namespace superstep::cli {

/// Runs a job, and reports its progress, its summary and its errors to the user.
/// @param has_all_rows if not null, receives whether no row of the job is left
/// @return the exit code of docs/batch-files.md
[[nodiscard]] int run_job(const run_arguments& given, bool* has_all_rows = nullptr);

/// Whether the user has stopped a job of this process.
[[nodiscard]] bool is_stop_requested() noexcept;

} // namespace superstep::cli

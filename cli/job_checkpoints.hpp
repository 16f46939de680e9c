// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/agent_runner.hpp"

#include <superstep/batch/batch.hpp>

#include <string>

namespace superstep::cli {

/// Opens the database of a job's checkpoints, checkpoints_path_of(), and marks a new one as the
/// job's. The database of another job, or one with threads that no job wrote, is refused; with
/// batch_options::fresh the database of the earlier job is moved aside instead.
[[nodiscard]] agent_runner::open_checkpointer opener_of_checkpoints(const batch_options& options);

/// Removes the database of the job `job`, with the files beside it. A file that does not name this
/// job as its owner is left alone.
void remove_checkpoints_of(const std::string& output, const std::string& job) noexcept;

} // namespace superstep::cli

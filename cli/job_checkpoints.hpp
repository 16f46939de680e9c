// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/agent_runner.hpp"

#include <superstep/batch/batch.hpp>

#include <string>

namespace superstep::cli {

/// Returns a function that opens the checkpoint database of a job, checkpoints_path_of(), and
/// records the job as owner of a new one. The database of another job, or one with threads that no
/// job wrote, is rejected; with batch_options::fresh the database of an earlier job is moved aside.
[[nodiscard]] agent_runner::open_checkpointer opener_of_checkpoints(const batch_options& options);

/// Deletes the database of the job `job` and the files beside it. A file with another owner is
/// kept.
void remove_checkpoints_of(const std::string& output, const std::string& job) noexcept;

} // namespace superstep::cli

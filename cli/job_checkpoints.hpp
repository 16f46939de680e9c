// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/agent_runner.hpp"

#include <superstep/batch/batch.hpp>

#include <string>

namespace superstep::cli {

/// Returns a function that opens the checkpoint database of a job at checkpoints_path_of(). If the
/// database is new, the job is recorded as its owner. The function fails for the database of
/// another job, and for a database with threads that no job wrote. With batch_options::fresh, the
/// database of an earlier job is moved aside instead.
[[nodiscard]] agent_runner::open_checkpointer opener_of_checkpoints(const batch_options& options);

/// Deletes the checkpoint database of a job, and the files that belong to it. A database with
/// another owner is kept.
void remove_checkpoints_of(const std::string& output, const std::string& job) noexcept;

} // namespace superstep::cli

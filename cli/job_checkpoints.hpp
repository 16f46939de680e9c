// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/agent_runner.hpp"
#include "cli/ledger_options.hpp"

#include <superstep/batch/batch.hpp>

#include <string>

namespace superstep::cli {

/// Returns a function that opens the checkpoint database of a job at checkpoints_path_of(). If the
/// database is new, the job is recorded as its owner. The function fails for the database of
/// another job, and for a database with threads that no job wrote. With batch_options::fresh, the
/// database of an earlier job is moved aside instead.
[[nodiscard]] agent_runner::open_checkpointer opener_of_checkpoints(const batch_options& options);

/// Returns a function that opens the checkpoints of a shared job, which are in the database of its
/// ledger. Another worker can resume a row as soon as it has taken the row over.
[[nodiscard]] agent_runner::open_checkpointer
opener_of_shared_checkpoints(const ledger_arguments& given);

/// Deletes the checkpoints of a shared job. Does nothing if the database has no checkpoints.
/// @param job the id of the job, not its name
[[nodiscard]] result<void> remove_shared_checkpoints(const ledger_arguments& given,
                                                     const std::string& job);

/// Deletes the checkpoint database of a job, and the files that belong to it. A database with
/// another owner is kept.
void remove_checkpoints_of(const std::string& output, const std::string& job) noexcept;

} // namespace superstep::cli

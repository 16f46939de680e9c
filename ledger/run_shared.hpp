// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ledger_worker.hpp"
#include "shared_job.hpp"

#include <superstep/batch/batch.hpp>

#include <functional>
#include <string>

namespace superstep::detail {

/// Options of a process that takes part in a shared job.
struct shared_run_options {
  std::string parts;  ///< --parts: folder for the output lines; empty: they go to the database
  bool force = false; ///< --force: run although the agent, the tools or the model differ
  std::string key{};  ///< key with which the job was submitted; empty: none
  ledger_worker_options worker{};
};

/// Returns a function that returns whether a process must end although its rows may not be stored:
/// the user has requested to abort, and statements had some time since then.
/// @param stop must outlive the function
/// @par Threads
/// Any number of threads may call it. It must be called often, because the time begins with the
/// first call after the request.
[[nodiscard]] std::function<bool()> end_of_wait_of(const stop_request& stop);

/// Runs rows of a shared job until all its rows have ended, it is cancelled, or a stop is
/// requested. Any number of processes on any machines may do so at the same time, each with other
/// rows.
/// @param address the checked address of the ledger
/// @param name the name of the job
/// @param options as for run_batch(); the options of input and output are ignored
/// @return see run_batch(); the counts are those of the whole job
[[nodiscard]] result<batch_summary>
run_shared_batch(const pg_address& address, const std::string& name, const batch_options& options,
                 const shared_run_options& shared, row_runner& runner, progress_sink& progress,
                 const stop_request& stop);

} // namespace superstep::detail

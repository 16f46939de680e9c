// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ledger_worker.hpp"
#include "shared_job.hpp"

#include <superstep/batch/batch.hpp>

#include <functional>
#include <string>

namespace superstep::detail {

/// Finds the job of a worker that starts. Waits while the server is not available, as a running
/// worker does: with growing pauses, for at most ledger_worker_options::reconnect_timeout.
/// @param connection must end its waits when `stop` is requested
/// @param note called once if it waits, with a text for the user
/// @return as find_shared_job(); errc::cancelled if a stop is requested. A wrong address or
/// password is an error at once
[[nodiscard]] result<shared_job>
find_job_at_start(pg_connection& connection, const std::string& name,
                  const ledger_worker_options& worker, const stop_request& stop,
                  const std::function<void(const std::string&)>& note);

/// Finds the job of a worker that has ended, for its summary. If the connection is lost, it tries
/// again for at most 30 s, unless a stop is requested.
[[nodiscard]] result<shared_job> find_job_at_end(pg_connection& connection, const std::string& name,
                                                 const ledger_worker_options& worker,
                                                 const stop_request& stop);

} // namespace superstep::detail

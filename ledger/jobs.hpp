// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shared_job.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace superstep::detail {

/// A line of `superstep jobs list`.
struct job_entry {
  std::string name;
  std::string state; ///< `loading`, `open`, `paused`, `cancelled` or `finished`
  std::uint64_t rows = 0;
  std::uint64_t ok = 0;
  std::uint64_t dead = 0;
  std::uint64_t workers = 0; ///< seen within the last minute
};

/// A worker of a job, for `superstep jobs show`.
struct worker_entry {
  std::string name;
  std::string host;
  std::uint64_t chunks = 0;       ///< chunks that it holds
  std::uint64_t seconds_away = 0; ///< time since it was seen
};

/// Returns all jobs of a ledger by name; none if the database has no ledger.
[[nodiscard]] result<std::vector<job_entry>> list_jobs(pg_connection& connection);
/// Returns the workers of a job that were seen within an hour or hold a chunk.
[[nodiscard]] result<std::vector<worker_entry>> workers_of(pg_connection& connection,
                                                           const shared_job& job);
/// Pauses, resumes or cancels a job: its state becomes `paused`, `open` or `cancelled`. Fails if
/// its rows are still being loaded.
[[nodiscard]] result<void> set_state(pg_connection& connection, const shared_job& job,
                                     const char* state);
/// Lets the failed rows of a job run again, except those that reached the recursion limit. Returns
/// their number.
[[nodiscard]] result<std::uint64_t> retry_dead(pg_connection& connection, const shared_job& job);
/// Fails if the role of the connection may not remove jobs.
[[nodiscard]] result<void> check_may_drop(pg_connection& connection);
/// Removes a job with its rows and outputs.
[[nodiscard]] result<void> drop_job(pg_connection& connection, const shared_job& job);

/// Where export_job() writes.
struct export_options {
  std::string output; ///< path, or `-` for standard output
  std::string dead;   ///< path of the dead letters; empty: not written
  std::string parts;  ///< folder of the part files; empty: the lines are in the database
  std::string key;    ///< key with which the job was submitted; empty: none
};
/// The numbers of lines that export_job() has written.
struct exported_rows {
  std::uint64_t lines = 0;
  std::uint64_t dead = 0;
};
/// Writes the outputs of a job in the order of its rows. Files are replaced only if everything was
/// written.
[[nodiscard]] result<exported_rows> export_job(pg_connection& connection, const shared_job& job,
                                               const export_options& to);

} // namespace superstep::detail

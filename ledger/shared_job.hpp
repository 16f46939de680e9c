// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "batch/journal.hpp"
#include "ledger_db.hpp"
#include "postgres/pg_connection.hpp"

#include <superstep/batch/batch_options.hpp>

#include <cstdint>
#include <string>

namespace superstep::detail {

/// The command that runs the failed rows of a shared job again.
inline constexpr auto retry_command = "superstep jobs retry-dead";

/// A job in a database.
struct shared_job {
  std::int64_t number = 0;
  std::string name;
  shared_job_state state = shared_job_state::loading;
  job_header header;     ///< as in the journal of a job in files
  std::string agent;     ///< path of the agent file with which the job was submitted
  std::string key_check; ///< see cipher_of(); empty: the lines are not encrypted
  std::uint64_t rows = 0;
  chunk_sums sums{}; ///< over all rows that have ended

  [[nodiscard]] std::uint64_t ok() const noexcept { return static_cast<std::uint64_t>(sums[0]); }
  [[nodiscard]] std::uint64_t dead() const noexcept { return static_cast<std::uint64_t>(sums[1]); }
};

/// Where a shared job is: the options --ledger, --job and --insecure-ledger.
struct shared_job_address {
  std::string ledger; ///< URL of the database
  std::string job;    ///< name of the job
  bool is_insecure_allowed = false;
};

/// Fails with errc::invalid_argument if the ledger of a database has another format, and with
/// errc::not_found or the error of the server if the database has no ledger.
[[nodiscard]] result<void> check_ledger_format(pg_connection& connection);

/// Finds a job by its name. Fails with errc::not_found if the database has no such job, or no
/// ledger, and with errc::invalid_argument if the ledger has another format.
[[nodiscard]] result<shared_job> find_shared_job(pg_connection& connection,
                                                 const std::string& name);

/// Returns the JSON text in the database of the header of a job and its key_check.
[[nodiscard]] std::string header_text(const job_header& header, const std::string& key_check);

/// Returns the counts of a job's rows as a journal has them.
[[nodiscard]] row_counts counts_of(const chunk_sums& sums) noexcept;
/// Returns the sums for one row.
[[nodiscard]] chunk_sums sums_of(const row_counts& counts, bool is_dead) noexcept;

} // namespace superstep::detail

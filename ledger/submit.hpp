// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shared_job.hpp"

#include <superstep/batch/batch.hpp>

#include <cstdint>
#include <string>

namespace superstep::detail {

/// Facts that `superstep submit` stores besides the rows.
struct submit_options {
  std::string agent;                ///< path of the agent file, for workers that name no other
  std::uint64_t chunk_rows = 0;     ///< rows of a chunk, from 1 to 4,096; 0: see chunk_rows_of()
  std::uint64_t load_rows = 10'000; ///< rows of a transaction
  std::string key{};                ///< encrypts the lines of the job; empty: they are plain text
};

/// Returns the number of rows of a chunk for a job, a power of two. Large jobs have large chunks,
/// because many processes lease from them, and each lease is a statement. A process reads a chunk
/// as a whole, so chunks of large rows have fewer rows. The duration of rows has no influence: a
/// process without rows takes over half of another one's chunk.
/// @param row_bytes mean size of the text of a row; 0 if not known
[[nodiscard]] std::uint64_t chunk_rows_of(std::uint64_t rows, std::uint64_t row_bytes) noexcept;

/// The result of submit_job().
struct submitted_job {
  std::uint64_t rows = 0;
  std::uint64_t rows_before = 0; ///< rows that an interrupted submit had stored
  bool was_complete = false;     ///< whether the job had been submitted before
};

/// Checks the input of a job and stores it in a ledger, under a name. Creates the tables if the
/// database has none. Continues an interrupted submit of the same job.
/// @param options `input` and how to read it, and the fingerprint
/// @return errc::invalid_argument if another job has the name, or if the name contains control
/// characters; errc::parse_failed for invalid lines
[[nodiscard]] result<submitted_job> submit_job(pg_connection& connection, const std::string& name,
                                               const batch_options& options,
                                               const submit_options& submit,
                                               const stop_request& stop);

/// Creates the schema of the ledger if the database has none. Fails with errc::invalid_argument if
/// it has one of another version.
[[nodiscard]] result<void> prepare_ledger(pg_connection& connection);

} // namespace superstep::detail

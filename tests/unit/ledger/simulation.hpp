// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ledger/ledger_worker.hpp"
#include "model_ledger.hpp"

#include <cstdint>
#include <string>

namespace superstep::testing {

/// A fleet of workers in virtual time. One seed decides everything. Times are in seconds.
struct simulation_options {
  std::uint64_t seed = 1;
  std::uint64_t rows = 100'000;
  std::uint64_t chunk_rows = 256;
  std::uint32_t workers = 1'000;
  std::size_t concurrency = 256;
  double row_median = 6; ///< rows take a time of a lognormal distribution
  double row_sigma = 0.6;
  double row_longest = 600;
  double start_within = 1; ///< all workers start within this time
  // The server: one statement at a time, with a fixed time and a time for each row.
  double statement_cost = 0.00175;
  double row_cost = 0.0000107;
  double network = 0.0005;
  // If `cores` is not 0, workers and server share the processors of one machine. Rows then need a
  // time of a processor only, and a worker runs one at a time. The server handles several
  // statements at a time. Statements that read rows need a time for each of them.
  std::uint32_t cores = 0;
  double row_processor = 0;   ///< time of a processor that a row needs in its worker
  double start_processor = 0; ///< time of a processor that a worker needs to start
  double read_cost = 0;       ///< time of the server for each row that a worker reads
  // --- faults; 0: none ---
  double crash_every = 0;    ///< mean time between crashes of a worker
  double restart_after = 60; ///< time until a crashed worker starts again
  double pause_every = 0;    ///< mean time between pauses of a worker beyond its lease
  double slow_share = 0;     ///< share of workers that are ten times slower
  double cut_share = 0;      ///< share of statements whose connection is lost before the answer
  double late_share = 0;     ///< share of those that the server executes only later
  double server_crash_every = 0;
  double server_away = 30;        ///< duration of a restart of the server
  double poisoned_share = 0;      ///< share of rows that take the longest time
  double rack_loss_at = 0;        ///< when 50 workers disappear at once
  std::uint32_t elastic_from = 0; ///< workers at the start; the others start after 60 s
  double time_max = 1'000'000;
  std::int64_t budget = 0; ///< cost at which workers start no more rows; a row costs 1; 0: none
};

/// The result of a simulation. `fault` is empty if all invariants held.
struct simulation_result {
  std::string fault;
  double makespan = 0;
  double ideal = 0;        ///< time if all workers were busy all the time and nothing failed; with
                           ///< `cores`, time of the processors for the rows
  double last_percent = 0; ///< time between 99 % and 100 % of the rows
  double longest_row = 0;  ///< the longest row that ran
  double server_busy = 0;  ///< share of the time
  double worst_wait = 0;   ///< the longest duration of a statement
  double rows_again = 0;   ///< share of rows that ran more than once
  std::uint64_t statements = 0;
  std::uint64_t commits = 0; ///< among the statements
  std::uint64_t leases = 0;  ///< among the statements
  std::uint64_t reads = 0;   ///< among the statements
  std::uint64_t crashes = 0;
  std::int64_t spent = 0; ///< cost of the rows that are stored

  [[nodiscard]] double over() const noexcept { return makespan / ideal - 1; }
};

/// Runs the job until all rows are stored, or until its budget is spent.
[[nodiscard]] simulation_result simulate(const simulation_options& options);

/// Returns a text with the seed and the figures.
[[nodiscard]] std::string to_text(const simulation_options& options,
                                  const simulation_result& result);

} // namespace superstep::testing

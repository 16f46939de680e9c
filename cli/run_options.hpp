// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/ledger_options.hpp"
#include "cli/score.hpp"
#include "cli/stop_options.hpp"

#include <superstep/agents/agent_file.hpp>
#include <superstep/batch/batch_options.hpp>

#include <CLI/CLI.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace superstep::cli {

/// Arguments that select the rows of a job, and that select_rows() converts.
struct selection_arguments {
  std::uint64_t limit = 0; ///< 0: all rows
  std::string shard;       ///< `I/N`; empty: all rows
};

/// The arguments of `superstep run`.
struct run_arguments {
  std::string agent;
  std::vector<std::string> overrides; ///< see overrides_of()
  std::string cache;                  ///< empty: the cache of the agent file

  // --- rows ---
  std::string bad_lines = "fail";
  selection_arguments rows;
  std::string input_format = "auto";

  // --- limits ---
  std::optional<std::uint64_t> row_deadline_ms; ///< not set: the value of the agent file
  std::uint64_t shortage_wait_ms = 30'000;
  std::size_t workers = 0;
  std::size_t cores = 0;
  stop_arguments stop;

  // --- reports ---
  std::string progress = "auto";
  std::string events; ///< empty: no event log
  std::string trace;  ///< empty: no trace
  std::uint64_t trace_mb = 100;
  gold_options gold;
  std::vector<std::string> matrix;      ///< empty: one job
  std::vector<std::string> combination; ///< values of a job of --matrix, in the form of --set
  bool is_gold_checked = false;         ///< whether an earlier combination has checked `gold`
  std::optional<std::uint16_t> metrics; ///< port; not set: no metrics

  // --- output ---
  std::string output_format = "auto";
  std::string order = "completion";
  bool checkpoints = false;

  // --- a job that several processes share ---
  ledger_arguments shared;

  /// Options that need no conversion. options_of() adds the others.
  batch_options batch;
};

/// Add the options of `superstep run`, one group each. `into` must outlive the verb. @{
/// The agent, the input and the rows of the input that run.
void add_row_options(CLI::App& verb, run_arguments& into);
/// The rows of the input that run.
void add_selection_options(CLI::App& verb, selection_arguments& into, batch_options& batch);
/// The format of the input, and the rows of the input that run.
void add_input_options(CLI::App& verb, run_arguments& into);
/// The output, and what happens to the files of an earlier job.
void add_output_options(CLI::App& verb, run_arguments& into);
/// The limits of rows and of the machine.
void add_limit_options(CLI::App& verb, run_arguments& into);
/// The answer cache.
void add_cache_option(CLI::App& verb, run_arguments& into);
/// The reports about the job while it runs.
void add_report_options(CLI::App& verb, run_arguments& into);
/// @}

/// Sets the options of a job that select its rows.
void select_rows(const selection_arguments& given, batch_options& into);

/// Returns the overrides of the agent file: those of --set, of --matrix, and of options
/// for single keys.
[[nodiscard]] std::vector<std::string> overrides_of(const run_arguments& given);

/// Returns the names of the members of the agent's structured response.
[[nodiscard]] std::vector<std::string> response_fields_of(const agent& a);

/// Returns the options of the job: those of the command line, completed by those of the agent.
[[nodiscard]] batch_options options_of(const run_arguments& given, const agent& a);

} // namespace superstep::cli

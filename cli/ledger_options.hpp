// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ledger/shared_job.hpp"
#include "postgres/pg_connection.hpp"

#include <superstep/base/error.hpp>

#include <CLI/CLI.hpp>

#include <cstdint>
#include <string>

namespace superstep::cli {

/// The options that name a job that several processes share.
struct ledger_arguments {
  std::string ledger; ///< URL of the database; empty: the job is in files
  std::string job;
  std::string parts; ///< empty: output lines are in the database
  bool is_insecure_allowed = false;
  std::uint64_t lease_ms = 60'000;

  [[nodiscard]] bool is_set() const noexcept { return !ledger.empty(); }
};

/// Adds --ledger and --insecure-ledger to a verb.
CLI::Option* add_ledger_option(CLI::App& verb, ledger_arguments& into);
/// Adds --job to a verb.
CLI::Option* add_job_option(CLI::App& verb, ledger_arguments& into);
/// Adds the options of a shared job to `superstep run`: without --ledger, AGENT, --input and
/// --output are required; with it, the options that belong to files are rejected.
void add_shared_run_options(CLI::App& verb, ledger_arguments& into);

/// Returns the key of encrypted jobs from the environment; empty if it is not set.
[[nodiscard]] result<std::string> ledger_key();

/// Opens the database of --ledger.
[[nodiscard]] result<detail::pg_connection> open_ledger(const ledger_arguments& given);

} // namespace superstep::cli

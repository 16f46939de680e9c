// SPDX-License-Identifier: Apache-2.0
// superstep jobs list, show, pause, resume, cancel, retry-dead, export and drop: the jobs of a
// ledger.
#include "ledger/jobs.hpp"

#include "base/error_words.hpp"
#include "cli/commands.hpp"
#include "cli/job_checkpoints.hpp"
#include "cli/ledger_options.hpp"
#include "cli/standard_output.hpp"
#include "cli/usage.hpp"
#include "results/result_line.hpp"

#include <superstep/base/detail/distinct_files.hpp>
#include <superstep/batch/batch.hpp>

#include <fmt/format.h>

#include <array>
#include <csignal>
#include <functional>
#include <iostream>
#include <memory>
#include <system_error>

namespace superstep::cli {

namespace {

using detail::pg_connection;
using detail::shared_job;

struct jobs_arguments {
  ledger_arguments shared;
  detail::export_options files;
  bool is_confirmed = false;
};

int fail_jobs(const std::string& text) {
  std::cerr << "superstep jobs: " << text << '\n';
  return static_cast<int>(exit_code::failed);
}

std::string line_of(const detail::job_entry& job) {
  return fmt::format("{:<24} {:<10} {} of {} done, {} failed, {}", job.name, job.state,
                     job.ok + job.dead, counted(job.rows, "row"), job.dead,
                     counted(job.workers, "worker"));
}

int list(const jobs_arguments& given) {
  auto connection = open_ledger(given.shared);
  if (!connection)
    return fail_jobs(connection.error().text);
  const auto jobs = detail::list_jobs(*connection);
  if (!jobs)
    return fail_jobs(jobs.error().text);
  for (const auto& job : *jobs)
    std::cout << line_of(job) << '\n';
  return 0;
}

result<void> show(pg_connection& connection, const shared_job& job, const jobs_arguments&) {
  const auto jobs = detail::list_jobs(connection);
  if (!jobs)
    return jobs.error();
  for (const auto& each : *jobs)
    if (each.name == job.name)
      std::cout << line_of(each) << '\n';
  std::cout << "job id " << job.header.job_id << ", agent file " << job.agent << '\n'
            << fmt::format("{}, {}, {} ({} in, {} out)\n",
                           counted(static_cast<std::uint64_t>(job.sums[3]), "model call"),
                           counted(static_cast<std::uint64_t>(job.sums[4]), "tool call"),
                           counted(static_cast<std::uint64_t>(job.sums[7]), "token"), job.sums[5],
                           job.sums[6]);
  const auto workers = detail::workers_of(connection, job);
  if (!workers)
    return workers.error();
  for (const auto& worker : *workers)
    std::cout << fmt::format("worker {} holds {}, seen {} s ago\n", worker.name,
                             counted(worker.chunks, "chunk"), worker.seconds_away);
  return {};
}

result<void> retry(pg_connection& connection, const shared_job& job, const jobs_arguments&) {
  const auto rows = detail::retry_dead(connection, job);
  if (!rows)
    return rows.error();
  std::cout << counted(*rows, "failed row") << " will run again\n";
  return {};
}

/// Checks that an export replaces no file but an earlier export: all lines of outputs and dead
/// letters have the member `error`.
result<void> check_exported(const used_file& file) {
  if (file.path.empty() || file.path == "-")
    return {};
  const auto checked = results::check_replaced(file.path, {"error"});
  return checked ? checked : error{checked.error().code, file.what + ": " + checked.error().text};
}

result<void> export_rows(pg_connection& connection, const shared_job& job,
                         const jobs_arguments& given) {
  auto key = ledger_key();
  if (!key)
    return key.error();
  auto files = given.files;
  const auto written_files =
      std::array{used_file{"--output", files.output, used_file::use::written},
                 used_file{"--dead", files.dead, used_file::use::written}};
  if (auto checked = check_distinct_files(written_files); !checked)
    return checked;
  for (const auto& file : written_files)
    if (auto checked = check_exported(file); !checked)
      return checked;
  files.key = *std::move(key);
  const auto written = detail::export_job(connection, job, files);
  if (!written)
    return written.error();
  std::cerr << counted(written->lines, "line") << " of " << counted(job.rows, "row") << ", "
            << written->dead << " failed\n";
  return {};
}

result<void> drop(pg_connection& connection, const shared_job& job, const jobs_arguments& given) {
  if (!given.is_confirmed)
    return error{errc::invalid_argument, "--yes is required: the rows and outputs of the job \"" +
                                             job.name + "\" will be lost; see also jobs export"};
  if (auto allowed = detail::check_may_drop(connection); !allowed)
    return allowed; // while the job still has its checkpoints
  if (auto removed = remove_shared_checkpoints(given.shared, job.header.job_id); !removed)
    return removed;
  return detail::drop_job(connection, job);
}

using job_function =
    std::function<result<void>(pg_connection&, const shared_job&, const jobs_arguments&)>;

/// Finds the job of the arguments and calls a function for it.
int for_job(const jobs_arguments& given, const job_function& act) {
  auto connection = open_ledger(given.shared);
  if (!connection)
    return fail_jobs(connection.error().text);
  const auto job = detail::find_shared_job(*connection, given.shared.job);
  if (!job)
    return fail_jobs(job.error().text);
  std::signal(SIGPIPE, SIG_IGN); // a closed pipe is reported as a write error
  const auto done = act(*connection, *job, given);
  if (!done && done.error().code == std::errc::broken_pipe) // the rows are still in the ledger
    return reader_ended_code;
  return done ? 0 : fail_jobs(done.error().text);
}

/// Adds a verb below `superstep jobs` that works on one job.
CLI::App& add_job_verb(CLI::App& jobs, const std::shared_ptr<jobs_arguments>& given, action& chosen,
                       const char* name, const char* text, job_function act) {
  auto& verb = *jobs.add_subcommand(name, text);
  add_ledger_option(verb, given->shared)->required();
  add_job_option(verb, given->shared)->required();
  verb.callback([given, &chosen, act = std::move(act)] {
    chosen = [given, act] { return for_job(*given, act); };
  });
  return verb;
}

job_function state_setter(const char* state) {
  return [state](pg_connection& connection, const shared_job& job, const jobs_arguments&) {
    return detail::set_state(connection, job, state);
  };
}

} // namespace

void add_jobs(CLI::App& program, action& chosen) {
  auto given = std::make_shared<jobs_arguments>();
  auto& jobs = *program.add_subcommand("jobs", "Show and control the jobs of a ledger");
  jobs.require_subcommand(1);
  auto& listed = *jobs.add_subcommand("list", "List all jobs");
  add_ledger_option(listed, given->shared)->required();
  listed.callback([given, &chosen] { chosen = [given] { return list(*given); }; });
  add_job_verb(jobs, given, chosen, "show", "Show a job and its workers", show);
  add_job_verb(jobs, given, chosen, "pause", "Start no further rows until the job is resumed",
               state_setter("paused"));
  add_job_verb(jobs, given, chosen, "resume", "Continue a job that was paused or cancelled",
               state_setter("open"));
  add_job_verb(jobs, given, chosen, "cancel", "Start no further rows, and end all workers",
               state_setter("cancelled"));
  add_job_verb(jobs, given, chosen, "retry-dead",
               "Run failed rows again, except rows that reached the recursion limit", retry);
  auto& exported = add_job_verb(jobs, given, chosen, "export",
                                "Write the output lines in the order of the input", export_rows);
  exported
      .add_option("-o,--output", given->files.output, "File for the lines; - for standard output")
      ->required()
      ->check(not_empty());
  exported.add_option("--dead", given->files.dead, "File for the dead letters of failed rows")
      ->check(named_file());
  exported.add_option("--parts", given->files.parts, "Folder of superstep run --parts")
      ->check(not_empty());
  auto& dropped = add_job_verb(jobs, given, chosen, "drop", "Remove a job with its outputs", drop);
  dropped.add_flag("--yes", given->is_confirmed, "Confirm that the outputs are not needed");
}

} // namespace superstep::cli

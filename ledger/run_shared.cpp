// SPDX-License-Identifier: Apache-2.0
// Runs the part of one process in a shared job: connects a batch_run with a shared_ledger.
#include "run_shared.hpp"

#include "base/error_words.hpp"
#include "batch/batch_run.hpp"
#include "batch/job_changes.hpp"
#include "job_at_start.hpp"
#include "pg_ledger_db.hpp"
#include "shared_ledger.hpp"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <random>

#include <unistd.h>

namespace superstep::detail {
namespace {

std::string host_name() {
  constexpr auto length_max = std::size_t{256};
  auto name = std::string(length_max, '\0');
  if (::gethostname(name.data(), name.size() - 1) != 0)
    return "unknown";
  return name.c_str();
}

/// Returns a name that no other process has, not even an earlier one with the same process id.
std::string worker_name(std::uint64_t random) {
  return host_name() + "-" + std::to_string(::getpid()) + "-" + std::to_string(random);
}

/// Fails if the job was submitted with another agent, other tools or another model.
result<void> check_same(const shared_job& job, const batch_options& options, bool force) {
  auto wanted = new_header(options, job.header.input, job.header.format);
  wanted.id_field = job.header.id_field;
  wanted.shard = job.header.shard;
  wanted.sample = job.header.sample;
  wanted.repeat = job.header.repeat;
  const auto differ = differences(job.header, wanted);
  if (differ.empty() || force)
    return {};
  return error{errc::invalid_argument,
               "the job \"" + job.name + "\" was submitted with another configuration (changed: " +
                   differ + "); use that one, or run it anyway with --force"};
}

result<void> check_state(const shared_job& job) {
  if (job.state == shared_job_state::loading)
    return error{errc::invalid_argument, "the rows of the job \"" + job.name +
                                             "\" are not complete; run superstep submit again"};
  if (job.state == shared_job_state::cancelled)
    return error{errc::cancelled, "the job \"" + job.name +
                                      "\" was cancelled; continue it with superstep jobs "
                                      "resume"};
  return {};
}

batch_summary finished_summary(const shared_job& job) {
  auto out = batch_summary{};
  out.already_finished = true;
  out.job_id = job.header.job_id;
  out.rows = job.rows;
  out.ok = job.ok();
  out.failed = job.dead();
  out.resumed = out.ok + out.failed;
  out.rows_with_failed_calls = static_cast<std::uint64_t>(job.sums.back());
  out.output = "the job " + job.name;
  out.retry = retry_command;
  set_counts(out, counts_of(job.sums));
  if (out.failed > 0)
    out.code = exit_code::dead_rows;
  return out;
}

result<std::optional<part_files>> parts_of(const std::string& folder, const std::string& job) {
  using parts = std::optional<part_files>;
  if (folder.empty())
    return parts{};
  if (job.find('/') != std::string::npos) // it becomes a part of file names
    return error{errc::parse_failed, "the ledger's id of the job is not valid: " + job};
  auto failed = std::error_code{};
  std::filesystem::create_directories(folder, failed);
  if (failed)
    return error{errc::io_failed, "--parts: cannot create " + folder + ": " + failed.message()};
  return parts{part_files{folder, job}};
}

} // namespace

std::function<bool()> end_of_wait_of(const stop_request& stop) {
  using steady = std::chrono::steady_clock;
  static constexpr auto none = steady::time_point::max();
  return [&stop, aborted_at = std::make_shared<std::atomic<steady::time_point>>(none)] {
    constexpr auto wait = std::chrono::seconds{5};
    if (stop.current() != stop_request::abort)
      return false;
    const auto now = steady::now();
    auto first = none;
    if (aborted_at->compare_exchange_strong(first, now))
      return false;
    return now - first > wait;
  };
}

result<batch_summary> run_shared_batch(const pg_address& address, const std::string& name,
                                       const batch_options& options,
                                       const shared_run_options& shared, row_runner& runner,
                                       progress_sink& progress, const stop_request& stop) {
  // Later, the first stop request must not cut off the statements that store rows.
  auto is_starting = true;
  const auto must_give_up = end_of_wait_of(stop);
  auto connection = pg_connection{
      address, [&] { return is_starting ? stop.current() != stop_request::none : must_give_up(); }};
  auto job = find_job_at_start(connection, name, shared.worker, stop,
                               [&](const std::string& text) { progress.note(text); });
  is_starting = false;
  if (!job)
    return job.error();
  if (auto checked = check_state(*job); !checked)
    return checked.error();
  const auto repeats = repeats_of(job->header.repeat);
  if (!repeats)
    return repeats.error();
  if (auto same = check_same(*job, options, shared.force); !same)
    return same.error();
  if (job->state == shared_job_state::finished)
    return finished_summary(*job);
  auto cipher = cipher_of(*job, shared.key);
  if (!cipher)
    return cipher.error();
  auto parts = parts_of(shared.parts, job->header.job_id);
  if (!parts)
    return parts.error();
  if (job->ok() + job->dead() > 0)
    progress.note("the job has " + std::to_string(job->ok() + job->dead()) + " of " +
                  counted(job->rows, "row") + " done");
  if (auto begun = runner.begin_job(job->header.job_id); !begun)
    return begun.error();
  auto worker = shared.worker;
  worker.concurrency = options.concurrency;
  worker.seed = (std::uint64_t{std::random_device{}()} << 32U) | std::random_device{}();
  const auto has_budget = options.rules.budget || options.rules.budget_tokens;
  auto db = pg_ledger_db{connection, worker_identity{.job = job->number,
                                                     .worker = worker_name(worker.seed),
                                                     .host = host_name(),
                                                     .lease = worker.lease,
                                                     .has_budget = has_budget}};
  auto ledger = shared_ledger{*job,
                              db,
                              worker,
                              *repeats,
                              options,
                              must_give_up,
                              *std::move(parts),
                              *std::move(cipher),
                              [&] { return find_job_at_end(connection, name, worker, stop); }};
  if (auto started = ledger.start(); !started)
    return started.error();
  return batch_run{options, runner, progress, stop, ledger}.run();
}

} // namespace superstep::detail

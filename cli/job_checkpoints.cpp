// SPDX-License-Identifier: Apache-2.0
// The checkpoints of a batch job (`superstep run --checkpoints`). Those of a job in files are in a
// file that records the job as its owner, so that no other job and no chat uses it. Those of a
// shared job are in the database of its ledger.
#include "cli/job_checkpoints.hpp"

#include "checkpoint/postgres_backend.hpp"
#include "checkpoint/postgres_removal.hpp"
#include "cli/interrupts.hpp"
#include "ledger/run_shared.hpp"

#include <superstep/checkpoint/checkpointer.hpp>
#include <superstep/checkpoint/postgres.hpp>
#include <superstep/checkpoint/sqlite.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string_view>
#include <utility>

#include <unistd.h>

namespace superstep::cli {

namespace {

constexpr auto owner_prefix = std::string_view{"the batch job "};

std::string owner_of(const std::string& job) {
  return std::string{owner_prefix} + job;
}

/// Renames the database of an earlier job, and the files that belong to it. No other process has it
/// open, because this process holds the lock on the job's journal.
void move_aside(const std::string& path) {
  namespace fs = std::filesystem;
  auto to = std::string{};
  for (auto n = 1; to.empty() || fs::exists(to) || fs::exists(to + "-wal"); ++n)
    to = path + ".old-" + std::to_string(n);
  auto ignored = std::error_code{};
  for (const auto* ending : {"-wal", "-shm", "-lease", ""})
    fs::rename(path + ending, to + ending, ignored);
}

using checkpointer_ptr = std::shared_ptr<superstep::checkpointer>;

/// A lease on a thread is shorter than a lease on the rows of a worker that does not answer, so
/// that the worker that takes them over can resume them.
std::chrono::milliseconds thread_lease_for(std::chrono::milliseconds row_lease) {
  constexpr auto longest = std::chrono::milliseconds{30'000};
  return std::min(longest, row_lease / 2);
}

/// Returns the options of the checkpoints of a shared job. Throws checkpoint_error if the key in
/// the environment is not valid.
postgres_checkpointer_options shared_options(const ledger_arguments& given) {
  auto out = postgres_checkpointer_options{};
  out.accepts_unverified_server = given.is_insecure_allowed;
  out.lease_time = thread_lease_for(std::chrono::milliseconds{given.lease_ms});
  out.encryption_key = encryption_key_from_environment();
  return out;
}

result<checkpointer_ptr> open_shared_checkpoints(const ledger_arguments& given) {
  try {
    return detail::cancellable_checkpointer(given.ledger, shared_options(given),
                                            detail::end_of_wait_of(interrupts()));
  } catch (const checkpoint_error& e) {
    return error{e.code(), e.what()};
  }
}

} // namespace

agent_runner::open_checkpointer opener_of_shared_checkpoints(const ledger_arguments& given) {
  return [given](const std::string& /*job*/) { return open_shared_checkpoints(given); };
}

result<void> remove_shared_checkpoints(const ledger_arguments& given, const std::string& job) {
  auto connection = open_ledger(given);
  if (!connection)
    return connection.error();
  const auto found = connection->run("select to_regclass('superstep_threads.threads') is not null");
  if (!found)
    return found.error();
  if (found->text(0, 0) != "t")
    return {};
  try {
    detail::delete_threads_with_prefix(given.ledger, shared_options(given), thread_prefix_of(job));
    return {};
  } catch (const checkpoint_error& e) {
    return error{e.code(), e.what()};
  }
}

agent_runner::open_checkpointer opener_of_checkpoints(const batch_options& options) {
  return [path = checkpoints_path_of(options.output), is_fresh = options.fresh](
             const std::string& job) -> result<std::shared_ptr<superstep::checkpointer>> {
    auto wanted = sqlite_checkpointer_options{};
    wanted.owner = owner_of(job);
    const auto found = sqlite_owner(path);
    if (is_fresh && found && *found != *wanted.owner && found->starts_with(owner_prefix))
      move_aside(path);
    try {
      wanted.encryption_key = encryption_key_from_environment();
      return sqlite_checkpointer(path, std::move(wanted));
    } catch (const checkpoint_error& e) {
      // The journal was opened in the same folder, so the path is correct. A failure now means that
      // the disk is full or the machine lacks resources.
      return e.code() == checkpoint_errc::failed ? error{errc::shortage, e.what()}
                                                 : error{e.code(), e.what()};
    }
  };
}

void remove_checkpoints_of(const std::string& output, const std::string& job) noexcept {
  const auto path = checkpoints_path_of(output);
  if (sqlite_owner(path) != owner_of(job))
    return;
  // Delete the database first. If the process dies then, SQLite ignores the write-ahead log that is
  // left.
  for (const auto* ending : {"", "-wal", "-shm", "-lease"})
    ::unlink((path + ending).c_str());
}

} // namespace superstep::cli

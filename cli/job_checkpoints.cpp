// SPDX-License-Identifier: Apache-2.0
// The checkpoint database of a batch job (`superstep run --checkpoints`). The file records the job
// as its owner, so that no other job and no chat uses it.
#include "cli/job_checkpoints.hpp"

#include <superstep/checkpoint/checkpointer.hpp>
#include <superstep/checkpoint/sqlite.hpp>

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

} // namespace

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

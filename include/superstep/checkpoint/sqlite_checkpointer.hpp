// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/checkpoint/checkpointer.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace superstep {

/// Options of sqlite_checkpointer().
struct sqlite_checkpointer_options {
  /// Maximum time to wait for another process's transaction.
  std::chrono::milliseconds busy_timeout{30'000};
  /// Time for which task records wait for the end of their super-step, so that they are written in
  /// one row with its checkpoint. After this delay they are written separately.
  std::chrono::milliseconds task_flush_delay{10};
  std::size_t queue_bytes_max = 16U << 20U; ///< size of the write queue; beyond it, put() blocks
  std::size_t batch_rows_max = 4'096;       ///< maximum number of rows in one transaction
  std::size_t threads_max = 10'000; ///< number of threads whose newest state is cached in memory
  /// Whether each transaction is on the disk before it counts as saved. If false, a power failure
  /// may lose the latest transactions, but the file stays consistent; a killed process loses
  /// nothing in either case.
  bool survives_power_loss = true;
  /// 32 bytes, see encryption.hpp: rows are encrypted with this key. Empty for no encryption.
  std::string encryption_key{};
  /// The only user of the file, for example one batch job. The name is stored in a new file. A file
  /// with another owner is refused (checkpoint_errc::wrong_owner), and so is a file without an
  /// owner that contains threads. If the name is empty, every file that has an owner is refused. If
  /// the option is not set, every file is accepted.
  std::optional<std::string> owner{};
};

/// Returns the owner stored in a database; see sqlite_checkpointer_options::owner. Returns nullopt
/// if the file does not exist, is not a superstep database, or has no owner. Does not write to the
/// file.
[[nodiscard]] std::optional<std::string> sqlite_owner(const std::string& path);

/// Truncates an exported thread, for example to import it as the start of a new branch.
/// @param exported text from checkpointer::export_thread()
/// @param at id of a checkpoint of the outermost graph, which becomes the newest. Its task records
///   are dropped, so the next super-step runs completely. If empty, the thread is not truncated
/// @return the exported thread without later checkpoints
/// @throws checkpoint_error if there is no such checkpoint or the text is damaged
[[nodiscard]] std::string cut_thread(std::string_view exported, std::string_view at);

/// Returns a checkpointer that stores threads in an SQLite database, and starts its writer thread.
/// docs/checkpoint-format.md describes the tables. Several processes may use one file.
///
/// One writer thread per object writes the checkpoints of all runs. It writes everything that is
/// queued in one transaction, so that many runs share one disk sync. A checkpoint is one row,
/// usually a delta to the previous checkpoint. The destructor writes what is queued; runs that
/// still wait for a lease get checkpoint_errc::in_use.
/// @param path path of the file, which is created if it does not exist; not empty, ":memory:" or a
///   "file:" URI
/// @throws checkpoint_error if the path cannot be opened, the file is not a superstep database or
///   has a newer format, the key does not match, or the file has another owner
[[nodiscard]] std::shared_ptr<checkpointer>
sqlite_checkpointer(std::string path, sqlite_checkpointer_options options = {});

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/clock.hpp>
#include <superstep/checkpoint/checkpointer.hpp>
#include <superstep/checkpoint/store.hpp>
#include <superstep/checkpoint/write_cache.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace superstep {

/// Whether a text is the URL of a PostgreSQL database (`postgresql://…`), and not the path of a
/// file. May be called from any thread.
[[nodiscard]] bool is_postgres_url(std::string_view text) noexcept;

/// Options of postgres_checkpointer().
struct postgres_checkpointer_options {
  /// Whether a server on another machine may be used without a verified certificate
  /// (`sslmode=verify-full`).
  bool accepts_unverified_server = false;
  /// How long an operation tries to reach a server that is not available; then it fails. Must not
  /// be negative.
  std::chrono::milliseconds reconnect_timeout{30'000};
  /// Validity of a lease on a thread without renewal, at least 300 ms. Leases are renewed three
  /// times in this time. The threads of a process that was killed are free after it.
  std::chrono::milliseconds lease_time{30'000};
  /// See sqlite_checkpointer_options::task_flush_delay.
  std::chrono::milliseconds task_flush_delay{10};
  /// Bytes of the write queue, at least 1; beyond it, put() blocks.
  std::size_t queue_bytes_max = 16U << 20U;
  std::size_t batch_rows_max = 4'096; ///< maximum number of rows in one transaction, at least 1
  std::size_t threads_max = 10'000;   ///< number of threads whose newest state is cached in memory
  /// Whether each transaction is on the server's disk before it counts as saved. If false, a crash
  /// of the server may lose the latest transactions (synchronous_commit = off).
  bool survives_power_loss = true;
  /// See sqlite_checkpointer_options::encryption_key.
  std::string encryption_key{};
};

/// Returns a checkpointer that stores threads in a PostgreSQL database, and starts its threads.
/// Processes on any number of machines may use one database. It creates its tables and functions in
/// the schema `superstep_threads`. docs/checkpoint-format.md describes the tables. It has three
/// connections, and one more while it prunes or deletes.
///
/// As with sqlite_checkpointer(), the checkpoints of all runs are written in batches, one
/// transaction per batch. If the connection is lost before the server has answered, the checkpointer
/// connects again and asks whether the transaction was committed. So no checkpoint is lost or
/// written twice. During reconnect_timeout the runs wait.
///
/// A lease is a row with its holder and a fence: a number that grows with each grant. The server's
/// clock decides how long it is valid, and every write checks that no other process holds it.
///
/// Ids of threads, namespaces and keys of effects may have at most 2,600 bytes together, and must be
/// valid UTF-8 without NUL bytes. May be called from any thread.
/// @param url address of the database, without a password: use a password file (PGPASSFILE), a
///   service file or PGPASSWORD
/// @param options see postgres_checkpointer_options
/// @throws checkpoint_error if the address is not accepted, the server cannot be reached, the user
///   may not use the tables, the key does not match, or the format is newer
/// @throws std::invalid_argument for options out of range
[[nodiscard]] std::shared_ptr<checkpointer>
postgres_checkpointer(const std::string& url, postgres_checkpointer_options options = {});

} // namespace superstep

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
  /// The time in which an operation tries to reach a server that is not available; it then fails.
  /// Must not be negative.
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
/// transaction per batch. If the connection is lost before the server has answered, the
/// checkpointer connects again and asks whether the transaction was committed. So no checkpoint is
/// lost or written twice. During reconnect_timeout the runs wait.
///
/// A lease is a row with its holder and a fence: a number that grows with each grant. The server's
/// clock decides how long it is valid, and every write checks that no other process holds it.
///
/// Ids of threads, namespaces and keys of effects may have at most 2,600 bytes together, and must
/// be valid UTF-8 without NUL bytes. May be called from any thread.
/// @param url address of the database, without a password: use a password file (PGPASSFILE), a
///   service file or PGPASSWORD
/// @param options see postgres_checkpointer_options
/// @throws checkpoint_error if the address is not accepted, the server cannot be reached, the user
///   may not use the tables, the key does not match, or the format is newer
/// @throws std::invalid_argument for options out of range
[[nodiscard]] std::shared_ptr<checkpointer>
postgres_checkpointer(const std::string& url, postgres_checkpointer_options options = {});

/// Options of a postgres_store.
struct postgres_store_options {
  /// See postgres_checkpointer_options::accepts_unverified_server.
  bool accepts_unverified_server = false;
  /// The time in which a call tries to reach a server that is not available; it then fails.
  std::chrono::milliseconds reconnect_timeout{30'000};
  std::string encryption_key{};                   ///< see sqlite_store_options::encryption_key
  embedding embed{};                              ///< see memory_store_options::embed
  std::vector<std::string> fields{"$"};           ///< see memory_store_options::fields
  std::optional<std::chrono::milliseconds> ttl{}; ///< see memory_store_options::ttl
  bool renew_on_read = true;                      ///< see memory_store_options::renew_on_read
  const superstep::clock* time = &system_clock(); ///< must outlive the store; for tests
};

/// A long-term store in a PostgreSQL database, which may be that of a postgres_checkpointer().
/// Processes on any number of machines may use one database. Everything else is as described for
/// sqlite_store. A namespace with its key may have at most 2,600 bytes.
/// @par Threads
/// All members may be called from any thread.
class postgres_store final : public store {
public:
  /// Connects to the database, and creates the tables if they do not exist.
  /// @param url see postgres_checkpointer()
  /// @param options see postgres_store_options
  /// @throws checkpoint_error as postgres_checkpointer()
  explicit postgres_store(const std::string& url, postgres_store_options options = {});
  /// Closes the connection; no run may use the store.
  ~postgres_store() override;

  std::optional<json::object> get(const store_namespace&, std::string_view key) override;
  void put(const store_namespace&, std::string_view key, json::object value,
           const store_put_options& = {}) override;
  void erase(const store_namespace&, std::string_view key) override;
  std::vector<store_item> search(const store_query&) override;
  std::vector<store_namespace> list(const namespace_query& = {}) override;
  /// Deletes expired items to free space; get() and search() never return them. Returns their
  /// number.
  std::size_t sweep();

private:
  class impl;
  std::unique_ptr<impl> impl_;
};

/// Options of a postgres_cache.
struct postgres_cache_options {
  /// See postgres_checkpointer_options::accepts_unverified_server.
  bool accepts_unverified_server = false;
  /// The time in which a call tries to reach a server that is not available. If the server does not
  /// answer, the call fails after five seconds.
  std::chrono::milliseconds reconnect_timeout{1'000};
  /// Number of outputs, at least 1; beyond it the oldest are dropped.
  std::size_t entries_max = 100'000;
  std::string encryption_key{};                   ///< see sqlite_cache_options::encryption_key
  const superstep::clock* time = &system_clock(); ///< must outlive the cache; for tests
};

/// A cache of task outputs in a PostgreSQL database, which may be that of a
/// postgres_checkpointer(). Everything else is as described for sqlite_cache.
/// @par Threads
/// All members may be called from any thread.
class postgres_cache final : public write_cache {
public:
  /// Connects to the database, and creates the tables if they do not exist.
  /// @param url see postgres_checkpointer()
  /// @param options see postgres_cache_options
  /// @throws checkpoint_error as postgres_checkpointer()
  /// @throws std::invalid_argument if entries_max is 0
  explicit postgres_cache(const std::string& url, postgres_cache_options options = {});
  /// Closes the connection; no run may use the cache.
  ~postgres_cache() override;

  std::optional<task_output> find(std::string_view scope, std::string_view key,
                                  const layout_ptr& as) override;
  void put(std::string_view scope, std::string_view key, task_output,
           std::optional<std::chrono::milliseconds> ttl, const layout_ptr& of) override;
  void clear(std::string_view scope) override;
  /// Deletes expired outputs and returns their number; 0 also after a failure (last_failure()).
  std::size_t sweep();
  /// Returns the text of the latest failure; empty if nothing has failed yet.
  [[nodiscard]] std::string last_failure() const;

private:
  class impl;
  std::unique_ptr<impl> impl_;
};

} // namespace superstep

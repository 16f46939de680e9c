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

/// Size of an encryption key in bytes (AES-256).
inline constexpr std::size_t encryption_key_bytes = 32;

/// Reads an encryption key from an environment variable, for sqlite_checkpointer_options,
/// sqlite_store_options or sqlite_cache_options.
/// @param name the variable; it must contain 64 hexadecimal digits (`openssl rand -hex 32` prints a
///   new key)
/// @return the 32 bytes of the key; empty if the variable is not set or empty
/// @throws checkpoint_error{wrong_key} if the value is not a valid key
/// @par Threads
/// Reads the environment; not safe while another thread calls setenv().
[[nodiscard]] std::string
encryption_key_from_environment(const char* name = "SUPERSTEP_CHECKPOINT_KEY");

/// Options of sqlite_checkpointer().
struct sqlite_checkpointer_options {
  /// Maximum time to wait for another process's transaction.
  std::chrono::milliseconds busy_timeout{30'000};
  /// Maximum time for which task records wait for the end of their super-step, so that they are
  /// written in one row with its checkpoint. After this delay they are written separately.
  std::chrono::milliseconds task_flush_delay{10};
  /// Bytes of the write queue, at least 1; beyond it, put() blocks.
  std::size_t queue_bytes_max = 16U << 20U;
  std::size_t batch_rows_max = 4'096; ///< maximum number of rows in one transaction, at least 1
  std::size_t threads_max = 10'000;   ///< number of threads whose newest state is cached in memory
  /// Whether each transaction is on the disk before it counts as saved. If false, a power failure
  /// may lose the latest transactions, but the file stays consistent; a killed process loses
  /// nothing in either case.
  bool survives_power_loss = true;
  /// The key with which rows are encrypted: encryption_key_bytes bytes, e.g. from
  /// encryption_key_from_environment(). Empty for no encryption.
  std::string encryption_key{};
  /// Name of the only user of the file, for example one batch job. The name is stored in a new
  /// file. Opening fails with checkpoint_errc::wrong_owner for a file with another owner, and for a
  /// file without an owner that contains threads. With an empty name, opening fails for every file
  /// that has an owner. If the option is not set, every file is accepted.
  std::optional<std::string> owner{};
};

/// Returns the owner stored in a database; see sqlite_checkpointer_options::owner. Does not write
/// to the file. May be called from any thread.
/// @param path path of the file
/// @return the owner; nullopt if the file has no owner, does not exist, or cannot be read: it is
/// not a superstep database, is damaged, is not readable for this user, or stays locked for 1 s
[[nodiscard]] std::optional<std::string> sqlite_owner(const std::string& path);

/// Truncates an exported thread, for example to import it as the start of a new branch. May be
/// called from any thread.
/// @param exported text from checkpointer::export_thread()
/// @param at id of a checkpoint of the outermost graph, which becomes the newest. Its task records
///   are dropped, so the next super-step runs completely. If empty, the thread is not truncated
/// @return the exported thread without later checkpoints
/// @throws checkpoint_error if there is no such checkpoint or the text is damaged
[[nodiscard]] std::string cut_thread(std::string_view exported, std::string_view at);

/// Returns a checkpointer that stores threads in an SQLite database, and starts its writer thread.
/// docs/checkpoint-format.md describes the tables. Several processes may use one file.
///
/// One writer thread per object writes the checkpoints of all runs. It writes the queued rows, up
/// to batch_rows_max, in one transaction, so that many runs share one disk sync. A run with
/// durability::sync may write its checkpoint itself if the queue is empty. A checkpoint is one row,
/// usually a delta to the previous checkpoint. The destructor writes all queued rows and ends the
/// thread; runs that still wait for a lease get checkpoint_errc::in_use. May be called from any
/// thread.
/// @param path path of the file, which is created if it does not exist; not empty, ":memory:" or a
///   "file:" URI
/// @param options see sqlite_checkpointer_options
/// @throws checkpoint_error if the path cannot be opened, the file is not a superstep database or
///   has a newer format, the key does not match, or the file has another owner
/// @throws std::invalid_argument for options out of range; busy_timeout is limited to 24 days
[[nodiscard]] std::shared_ptr<checkpointer>
sqlite_checkpointer(std::string path, sqlite_checkpointer_options options = {});

/// Options of an sqlite_store.
struct sqlite_store_options {
  /// Maximum time to wait for another process's transaction.
  std::chrono::milliseconds busy_timeout{30'000};
  /// Whether each put() is on the disk before it returns. If false, a power failure may lose the
  /// latest ones.
  bool survives_power_loss = true;
  /// The encryption key, as sqlite_checkpointer_options::encryption_key. Values and vectors are
  /// encrypted; namespaces and keys are not.
  std::string encryption_key{};
  embedding embed{};                              ///< see memory_store_options::embed
  std::vector<std::string> fields{"$"};           ///< see memory_store_options::fields
  std::optional<std::chrono::milliseconds> ttl{}; ///< see memory_store_options::ttl
  bool renew_on_read = true;                      ///< see memory_store_options::renew_on_read
  const superstep::clock* time = &system_clock(); ///< must outlive the store; for tests
};

/// A long-term store in an SQLite database, which may be the file of an sqlite_checkpointer.
/// Several processes may use one file.
///
/// search() returns items ordered by namespace, then by key. Filters and vectors are compared item
/// by item, so the cost grows with the number of items below the query's prefix. All functions
/// throw checkpoint_error if the file cannot be read or written. put() throws std::invalid_argument
/// if the vectors of one item differ in length, and search() if a stored vector differs in length
/// from that of the query's text.
/// @par Threads
/// All members may be called from any thread.
class sqlite_store final : public store {
public:
  /// Opens or creates the database.
  /// @param path path of the file
  /// @param options see sqlite_store_options
  /// @throws checkpoint_error if the path cannot be opened, the file is not a superstep database or
  /// has a newer format, or the key does not match
  /// @throws std::invalid_argument if busy_timeout is not from 0 to 24 days
  explicit sqlite_store(std::string path, sqlite_store_options options = {});
  /// Closes the database; no run may use the store.
  ~sqlite_store() override;

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

/// Options of an sqlite_cache.
struct sqlite_cache_options {
  /// Number of outputs, at least 1; beyond it the oldest are dropped.
  std::size_t entries_max = 100'000;
  /// Maximum time to wait for another process's transaction.
  std::chrono::milliseconds busy_timeout{1'000};
  /// The encryption key, as sqlite_checkpointer_options::encryption_key. Outputs are encrypted;
  /// scopes and keys (node names and hashes of inputs) are not.
  std::string encryption_key{};
  const superstep::clock* time = &system_clock(); ///< must outlive the cache; for tests
};

/// A cache of task outputs in an SQLite database, which may be the file of an sqlite_checkpointer.
/// Several processes may use one file. A power failure may lose the latest entries.
///
/// Failures of the cache do not fail the run. An output that cannot be written is not cached, and
/// an output that cannot be read counts as not found. last_failure() returns the reason. An output
/// with a write to an untracked channel is not cached either, because the write cannot be stored.
/// @par Threads
/// All members may be called from any thread.
class sqlite_cache final : public write_cache {
public:
  /// Opens or creates the database.
  /// @param path path of the file
  /// @param options see sqlite_cache_options
  /// @throws checkpoint_error if the path cannot be opened, the file is not a superstep database or
  /// has a newer format, or the key does not match
  /// @throws std::invalid_argument if busy_timeout is not from 0 to 24 days, or entries_max is 0
  explicit sqlite_cache(std::string path, sqlite_cache_options options = {});
  /// Closes the database; no run may use the cache.
  ~sqlite_cache() override;

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

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/clock.hpp>
#include <superstep/checkpoint/write_cache.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

namespace superstep {

/// Options of an sqlite_cache.
struct sqlite_cache_options {
  std::size_t entries_max = 100'000; ///< number of outputs; beyond it the oldest are dropped
  /// Maximum time to wait for another process's transaction.
  std::chrono::milliseconds busy_timeout{1'000};
  /// 32 bytes, see encryption.hpp; empty for no encryption. Outputs are encrypted; scopes and keys
  /// (node names and hashes of inputs) are not.
  std::string encryption_key{};
  const superstep::clock* time = &system_clock(); ///< must outlive the cache; for tests
};

/// A cache of task outputs in an SQLite database, which may be the file of an sqlite_checkpointer.
/// Several processes may use one file. A power failure may lose the latest entries.
///
/// Failures of the cache do not fail the run. An output that cannot be written is not cached, one
/// that cannot be read counts as not found, and last_failure() returns the reason.
class sqlite_cache final : public write_cache {
public:
  /// Opens or creates the database.
  /// @throws checkpoint_error if the path cannot be opened, the file is not a superstep database or
  /// has a newer format, or the key does not match
  explicit sqlite_cache(std::string path, sqlite_cache_options options = {});
  ~sqlite_cache() override;

  std::optional<task_output> find(std::string_view scope, std::string_view key,
                                  const layout_ptr& as) override;
  void put(std::string_view scope, std::string_view key, task_output,
           std::optional<std::chrono::milliseconds> ttl, const layout_ptr& of) override;
  void clear(std::string_view scope) override;
  /// Deletes expired outputs to free space; find() never returns them. Returns their number.
  std::size_t sweep();
  /// Returns the text of the latest failure; empty if nothing has failed yet.
  [[nodiscard]] std::string last_failure() const;

private:
  class impl;
  std::unique_ptr<impl> impl_;
};

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/clock.hpp>
#include <superstep/checkpoint/write_cache.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

namespace superstep {

struct sqlite_cache_options {
  std::size_t entries_max = 100'000;             ///< the oldest go first
  std::chrono::milliseconds busy_timeout{1'000}; ///< for a transaction of another process to end
  /// 32 bytes, see encryption.hpp: outputs are encrypted, names of nodes and inputs are not.
  std::string encryption_key{};
  const superstep::clock* time = &system_clock();
};

/// Keeps outputs in an SQLite database, which may be that of an sqlite_saver. Several processes may
/// use one file. A power cut may take the latest.
///
/// A run does not fail because its cache does: what cannot be written is not kept, what cannot be
/// read is not there, and last_failure() says why.
class sqlite_cache final : public write_cache {
public:
  /// Throws saver_error: the path, a file of something else, a newer format, a wrong key.
  explicit sqlite_cache(std::string path, sqlite_cache_options options = {});
  ~sqlite_cache() override;

  std::optional<task_output> find(std::string_view scope, std::string_view key,
                                  const layout_ptr& as) override;
  void put(std::string_view scope, std::string_view key, task_output,
           std::optional<std::chrono::milliseconds> ttl, const layout_ptr& of) override;
  void clear(std::string_view scope) override;
  /// Drops what has expired, which nobody sees anyway; returns how many outputs that were.
  std::size_t sweep();
  /// Why something could not be kept or read; empty: nothing has failed yet.
  [[nodiscard]] std::string last_failure() const;

private:
  class impl;
  std::unique_ptr<impl> impl_;
};

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/checkpoint/store.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace superstep {

/// Options of an sqlite_store.
struct sqlite_store_options {
  /// Maximum time to wait for another process's transaction.
  std::chrono::milliseconds busy_timeout{30'000};
  /// Whether each put() is on the disk before it returns. If false, a power failure may lose the
  /// latest ones.
  bool survives_power_loss = true;
  /// 32 bytes, see encryption.hpp; empty for no encryption. Values and vectors are encrypted;
  /// namespaces and keys are not.
  std::string encryption_key{};
  embedding embed{};                              ///< see memory_store_options::embed
  std::vector<std::string> fields{"$"};           ///< see memory_store_options::fields
  std::chrono::milliseconds ttl{0};               ///< see memory_store_options::ttl
  bool renew_on_read = true;                      ///< see memory_store_options::renew_on_read
  const superstep::clock* time = &system_clock(); ///< must outlive the store; for tests
};

/// A long-term store in an SQLite database, which may be the file of an sqlite_checkpointer.
/// Several processes may use one file.
///
/// search() returns items ordered by namespace, then by key. Filters and vectors are compared item
/// by item, so the cost grows with the number of items below the query's prefix. All functions
/// throw checkpoint_error if the file cannot be read or written.
class sqlite_store final : public store {
public:
  /// Opens or creates the database.
  /// @throws checkpoint_error if the path cannot be opened, the file is not a superstep database or
  /// has a newer format, or the key does not match
  explicit sqlite_store(std::string path, sqlite_store_options options = {});
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

} // namespace superstep

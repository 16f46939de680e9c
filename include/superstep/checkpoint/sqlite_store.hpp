// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/checkpoint/store.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace superstep {

struct sqlite_store_options {
  std::chrono::milliseconds busy_timeout{30'000}; ///< for a transaction of another process to end
  /// Each put is on the disk before it returns. Off, power loss may take the last ones.
  bool survives_power_loss = true;
  /// 32 bytes, see encryption.hpp: values are encrypted, namespaces and keys are not.
  std::string encryption_key{};
  embedding embed{}; ///< these four: see memory_store_options
  std::vector<std::string> fields{"$"};
  std::chrono::milliseconds ttl{0};
  bool reading_renews = true;
  const superstep::clock* time = &system_clock();
};

/// Long-term memory in an SQLite database, which may be that of an sqlite_saver. Several processes
/// may use one file. A search goes by namespaces, then by keys. What is there is compared one by
/// one: a search by meaning costs what the vectors below its namespace cost to read. Throws
/// saver_error where the file fails.
class sqlite_store final : public store {
public:
  explicit sqlite_store(std::string path, sqlite_store_options options = {});
  ~sqlite_store() override;

  std::optional<json::object> get(const store_namespace&, std::string_view key) override;
  void put(const store_namespace&, std::string_view key, json::object value,
           const store_put_options& = {}) override;
  void erase(const store_namespace&, std::string_view key) override;
  std::vector<store_item> search(const store_query&) override;
  std::vector<store_namespace> list(const namespace_query& = {}) override;
  /// Drops what has expired, which nobody sees anyway; returns how many items that were.
  std::size_t sweep();

private:
  class impl;
  std::unique_ptr<impl> impl_;
};

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/checkpoint/store.hpp>

#include <chrono>
#include <memory>
#include <string>

namespace superstep {

struct sqlite_store_options {
  std::chrono::milliseconds busy_timeout{30'000}; ///< for a transaction of another process to end
  /// Each put is on the disk before it returns. Off, power loss may take the last ones.
  bool survives_power_loss = true;
};

/// Long-term memory in an SQLite database, which may be that of an sqlite_saver. Several processes
/// may use one file. A search goes by namespaces, then by keys; items neither expire nor have an
/// index. Throws saver_error where the file fails.
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

private:
  class impl;
  std::unique_ptr<impl> impl_;
};

} // namespace superstep

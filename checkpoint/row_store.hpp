// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sql_database.hpp"
#include "store_index.hpp"

#include <superstep/base/clock.hpp>
#include <superstep/checkpoint/store.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace superstep::detail {

/// Options of a row_store; see memory_store_options.
struct row_store_options {
  embedding embed{};
  std::vector<std::string> fields{"$"};
  std::optional<std::chrono::milliseconds> ttl{};
  bool renew_on_read = true;
  const superstep::clock* time = &system_clock();
};

/// A long-term store in the tables of a database.
/// @par Threads
/// All members may be called from any thread.
class row_store : public store {
public:
  row_store(std::unique_ptr<database> db, row_store_options options);
  ~row_store() override;

  std::optional<json::object> get(const store_namespace&, std::string_view key) override;
  void put(const store_namespace&, std::string_view key, json::object value,
           const store_put_options& = {}) override;
  void erase(const store_namespace&, std::string_view key) override;
  std::vector<store_item> search(const store_query&) override;
  std::vector<store_namespace> list(const namespace_query& = {}) override;
  /// See sqlite_store::sweep().
  std::size_t sweep();

private:
  class impl;
  std::unique_ptr<impl> impl_;
};

} // namespace superstep::detail

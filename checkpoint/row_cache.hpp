// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sql_database.hpp"

#include <superstep/base/clock.hpp>
#include <superstep/checkpoint/write_cache.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace superstep::detail {

/// Options of a row_cache; see sqlite_cache_options.
struct row_cache_options {
  std::size_t entries_max = 100'000;
  const superstep::clock* time = &system_clock();
};

/// A cache of task outputs in the tables of a database; see sqlite_cache.
/// @par Threads
/// All members may be called from any thread.
class row_cache : public write_cache {
public:
  row_cache(std::unique_ptr<database> db, const row_cache_options& options);
  ~row_cache() override;

  std::optional<task_output> find(std::string_view scope, std::string_view key,
                                  const layout_ptr& as) override;
  void put(std::string_view scope, std::string_view key, task_output,
           std::optional<std::chrono::milliseconds> ttl, const layout_ptr& of) override;
  void clear(std::string_view scope) override;
  std::size_t sweep();
  [[nodiscard]] std::string last_failure() const;

private:
  class impl;
  std::unique_ptr<impl> impl_;
};

} // namespace superstep::detail

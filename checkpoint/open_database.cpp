// SPDX-License-Identifier: Apache-2.0
// Chooses between SQLite and PostgreSQL by the form of the name of a database.
#include "open_database.hpp"

#include "row_checkpointer.hpp"

#include <superstep/checkpoint/postgres.hpp>
#include <superstep/checkpoint/sqlite.hpp>

#include <utility>

namespace superstep::detail {

std::shared_ptr<checkpointer> open_threads(const std::string& database,
                                           std::optional<std::string> owner) {
  if (superstep::is_postgres_url(database)) {
    auto options = postgres_checkpointer_options{};
    options.encryption_key = encryption_key_from_environment();
    return postgres_checkpointer(database, std::move(options));
  }
  auto options = sqlite_checkpointer_options{};
  options.encryption_key = encryption_key_from_environment();
  options.owner = std::move(owner);
  return sqlite_checkpointer(database, std::move(options));
}

std::string export_until(checkpointer& from, std::string_view thread_id, std::string_view at) {
  if (auto* rows = dynamic_cast<row_checkpointer*>(&from))
    return rows->export_until(thread_id, at);
  return cut_thread(from.export_thread(thread_id), at);
}

std::unique_ptr<store> open_store(const std::string& database) {
  if (superstep::is_postgres_url(database)) {
    auto options = postgres_store_options{};
    options.encryption_key = encryption_key_from_environment();
    return std::make_unique<postgres_store>(database, std::move(options));
  }
  auto options = sqlite_store_options{};
  options.encryption_key = encryption_key_from_environment();
  return std::make_unique<sqlite_store>(database, std::move(options));
}

} // namespace superstep::detail

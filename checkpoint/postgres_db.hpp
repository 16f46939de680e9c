// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "postgres/pg_connection.hpp"
#include "sql_database.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace superstep::detail {

/// The schema with the tables and functions of threads, stores and caches in a database.
inline constexpr auto postgres_schema = std::string_view{"superstep_threads"};

/// The pauses between the attempts of an operation to reach a server that is not available.
class reconnect_clock {
public:
  /// @param connection must outlive the object
  reconnect_clock(const pg_connection& connection, std::chrono::milliseconds limit)
      : connection_{connection}, until_{std::chrono::steady_clock::now() + limit} {}
  /// Waits before the next attempt. Returns false if the time is over or the connection is
  /// cancelled.
  [[nodiscard]] bool wait();

private:
  const pg_connection& connection_;
  std::chrono::steady_clock::time_point until_;
  std::chrono::milliseconds pause_{20};
};

/// Converts an error of a connection to the error of a checkpointer, with advice.
[[nodiscard]] checkpoint_error postgres_failed(const error& why);

/// The checked address of a server for threads, stores and caches.
/// @throws checkpoint_error{failed}
[[nodiscard]] pg_address checked_postgres_address(const std::string& url, bool accepts_unverified);

/// A connection to a PostgreSQL database. A statement outside a transaction is repeated after the
/// connection was lost, so it must have the same effect if it runs twice.
class postgres_database final : public database {
public:
  /// @param reconnect how long a statement tries to reach the server
  /// @param is_cancelled see pg_connection
  postgres_database(pg_address address, row_cipher cipher, std::chrono::milliseconds reconnect,
                    std::function<bool()> is_cancelled = {});

  void exec(const char* sql) override;
  [[nodiscard]] statement prepare(std::string_view sql) override;
  [[nodiscard]] std::int64_t changes() const noexcept override { return changes_; }
  void begin(transaction) override;
  /// If the connection is lost, asks the server whether it has committed.
  void commit() override;
  void roll_back() noexcept override;
  [[nodiscard]] bool has_texts_in_byte_columns() const noexcept override { return false; }
  [[nodiscard]] std::string chain_sql(std::string_view columns) const override;

  /// Runs a statement as described above, and counts its changed rows.
  [[nodiscard]] pg_rows run(const char* statement, const pg_parameters& parameters);
  [[nodiscard]] pg_connection& connection() noexcept { return connection_; }
  [[nodiscard]] std::chrono::milliseconds reconnect_timeout() const noexcept { return reconnect_; }

private:
  pg_connection connection_;
  const std::chrono::milliseconds reconnect_;
  std::int64_t changes_ = 0;
  std::optional<std::int64_t> transaction_; ///< number of the open transaction
};

/// Connects to a database. Creates the tables and functions if they do not exist, or migrates them,
/// and checks the key.
/// @param key encryption key; empty for a database without encryption
/// @param is_cancelled see pg_connection
/// @throws checkpoint_error
[[nodiscard]] std::unique_ptr<postgres_database>
open_postgres(const pg_address& address, std::string_view key, std::chrono::milliseconds reconnect,
              std::function<bool()> is_cancelled = {});

} // namespace superstep::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sql_database.hpp"
#include "sqlite_log_space.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

// The SQLite API as a database. Statements and connections are closed by destructors, and errors
// are thrown as checkpoint_error. The checkpointer, the store and the cache use it.
// sqlite_schema.cpp opens files, creates their tables and checks their key.
namespace superstep::detail {

/// A statement of SQLite. It must not outlive its database.
class sqlite_statement final : public sql_statement {
public:
  explicit sqlite_statement(sqlite3_stmt* prepared, const std::string& path)
      : at_{prepared, &finish}, path_{&path} {}

  void bind(int place, std::int64_t n) override;
  void bind_text(int place, std::string_view text) override;
  void bind_bytes(int place, std::string_view bytes) override;
  void bind_null(int place) override;
  [[nodiscard]] bool step() override;
  void reset() noexcept override;
  [[nodiscard]] std::int64_t number(int column) const override;
  [[nodiscard]] bool is_null(int column) const override;
  [[nodiscard]] std::string_view text(int column) const override;
  [[nodiscard]] std::string_view bytes(int column) const override;
  /// Runs a statement that returns no rows, and resets it. Returns false if another connection has
  /// locked the file.
  [[nodiscard]] bool try_run();

private:
  static void finish(sqlite3_stmt*) noexcept;
  std::unique_ptr<sqlite3_stmt, void (*)(sqlite3_stmt*)> at_;
  const std::string* path_;
};

/// A connection to a file of SQLite.
class sqlite_database final : public database {
public:
  enum class access : bool { read_only, read_write };
  /// Opens the file. With read_write, creates it if it does not exist.
  /// @param busy_timeout how long each statement waits while another process writes
  sqlite_database(std::string path, access, std::chrono::milliseconds busy_timeout,
                  row_cipher cipher = row_cipher{});

  void exec(const char* sql) override;
  [[nodiscard]] statement prepare(std::string_view sql) override;
  [[nodiscard]] std::int64_t changes() const noexcept override;
  void begin(transaction) override;
  [[nodiscard]] bool try_begin_write() override;
  void commit() override;
  void roll_back() noexcept override;
  [[nodiscard]] bool has_texts_in_byte_columns() const noexcept override { return true; }
  [[nodiscard]] std::string chain_sql(std::string_view columns) const override;

  /// Runs a statement to which SQLite does not apply the busy timeout, such as a change of the
  /// journal mode. Retries until the file is not locked, or the busy timeout has passed.
  void exec_with_retry(const char* sql);
  /// Runs a statement of this database without waiting. Returns false if another connection has
  /// locked the file.
  [[nodiscard]] bool try_run(statement&);
  [[nodiscard]] bool is_in_transaction() const noexcept;
  [[nodiscard]] std::int64_t last_row() const noexcept;
  /// Switches to a write-ahead log.
  /// @param survives_power_loss whether every commit is synced to the disk
  void use_log(bool survives_power_loss);
  /// Whether the connection cannot write, because of the permissions of the file or of its folder.
  [[nodiscard]] bool is_read_only() const noexcept;

private:
  static void close(sqlite3*) noexcept;
  std::chrono::milliseconds busy_timeout_;
  std::optional<log_space> log_space_; ///< referred to by the hooks of the connection
  std::unique_ptr<sqlite3, void (*)(sqlite3*)> at_;
};

/// Opens or creates a file for writing. Migrates it to the current schema, switches it to a
/// write-ahead log, and checks the key. A new file has mode 0600.
/// @param survives_power_loss whether every commit is synced to the disk
/// @param key encryption key; empty for a file without encryption
/// @throws checkpoint_error, for example {wrong_key} if the file was created with another key or
///   without a key
[[nodiscard]] std::unique_ptr<sqlite_database>
open_for_writing(const std::string& path, std::chrono::milliseconds busy_timeout,
                 bool survives_power_loss, std::string_view key);

/// Records `owner` as the owner of the file; see sqlite_checkpointer_options::owner.
/// @throws checkpoint_error{wrong_owner} if the file has another owner
void claim(sqlite_database& db, const std::string& owner);

/// Returns the path if it is the path of a file. Throws checkpoint_error for SQLite's temporary and
/// in-memory databases, because each connection would open a separate one.
[[nodiscard]] const std::string& checked_file_path(const std::string& path);

/// Migrates the file to the current schema in one transaction. Throws for a file of another program
/// or of a newer version of superstep, without writing to it.
void open_schema(sqlite_database&);

} // namespace superstep::detail

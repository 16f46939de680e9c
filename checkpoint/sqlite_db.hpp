// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "row_cipher.hpp"

#include <superstep/checkpoint/checkpointer.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

// A thin C++ wrapper of the SQLite API. Statements and connections are closed by destructors, and
// errors are thrown as checkpoint_error. The checkpointer, the store and the cache use it.
// sqlite_schema.cpp opens files, creates their tables and checks their key.
namespace superstep::detail {

/// A prepared statement. It must not outlive its database. As in SQLite, columns are counted from 0
/// and parameters (`place`) from 1.
class statement {
public:
  explicit statement(sqlite3_stmt* prepared, const std::string& path)
      : at_{prepared, &finish}, path_{&path} {}

  void bind(int place, std::int64_t n);
  /// Binds a text or bytes without copying; the data must stay valid until the statement is reset.
  /// @{
  void bind_text(int place, std::string_view text);
  void bind_bytes(int place, std::string_view bytes);
  /// @}
  void bind_null(int place);

  /// Advances to the next row of the result. Returns false at the end.
  [[nodiscard]] bool step();
  /// Runs the statement to its end and resets it.
  void run();
  /// Runs a statement that returns no rows, and resets it. Returns false if another connection has
  /// locked the file.
  [[nodiscard]] bool try_run();
  void reset() noexcept;

  [[nodiscard]] std::int64_t number(int column) const noexcept;
  [[nodiscard]] bool is_null(int column) const noexcept;
  /// Returns a column of the current row. The view is valid until the next step() or reset().
  [[nodiscard]] std::string_view text(int column) const noexcept;
  [[nodiscard]] std::string_view bytes(int column) const noexcept;

private:
  static void finish(sqlite3_stmt*) noexcept;
  std::unique_ptr<sqlite3_stmt, void (*)(sqlite3_stmt*)> at_;
  const std::string* path_;
};

/// Resets a statement at the end of a scope. A statement that is not reset keeps a read transaction
/// open, and SQLite then cannot move the write-ahead log into the database.
class statement_use {
public:
  explicit statement_use(statement& s) noexcept : s_{s} {}
  statement_use(const statement_use&) = delete;
  statement_use& operator=(const statement_use&) = delete;
  ~statement_use() { s_.reset(); }
  statement* operator->() noexcept { return &s_; }

private:
  statement& s_;
};

/// A connection to a database. Only one thread at a time may use it.
class database {
public:
  enum class access : bool { read_only, read_write };
  /// Opens the file. With read_write, creates it if it does not exist.
  /// @param busy_timeout how long each statement waits while another process writes
  database(std::string path, access, std::chrono::milliseconds busy_timeout,
           row_cipher cipher = row_cipher{});

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  void exec(const char* sql);
  /// Runs a statement to which SQLite does not apply the busy timeout, such as a change of the
  /// journal mode. Retries until the file is not locked, or the busy timeout has passed.
  void exec_with_retry(const char* sql);
  /// Runs a statement of this database without waiting. Returns false if another connection has
  /// locked the file.
  [[nodiscard]] bool try_run(statement&);
  [[nodiscard]] bool is_in_transaction() const noexcept;
  [[nodiscard]] statement prepare(std::string_view sql);
  [[nodiscard]] std::int64_t pragma(const char* sql);
  /// Whether the connection cannot write, because of the permissions of the file or of its folder.
  [[nodiscard]] bool is_read_only() const noexcept;
  [[nodiscard]] std::int64_t last_row() const noexcept;
  [[nodiscard]] std::int64_t changes() const noexcept;
  /// Calls `act` in a transaction, and rolls back if it throws.
  /// @param begin statement that starts the transaction: "BEGIN", or "BEGIN IMMEDIATE" to write
  template <class Act>
  void in_transaction(const char* begin, Act act) {
    exec(begin);
    try {
      act();
      exec("COMMIT");
    } catch (...) {
      roll_back();
      throw;
    }
  }
  /// Rolls back the open transaction, if there is one.
  void roll_back() noexcept;

  [[nodiscard]] const row_cipher& cipher() const noexcept { return cipher_; }
  /// Converts a text to the bytes of a row, and back. The text is compressed with pack_row(), and
  /// then encrypted if there is a key. Encrypted bytes can only be read at the same place. @{
  [[nodiscard]] std::string to_row(std::string text, const row_place& place) const;
  [[nodiscard]] result<std::string> from_row(std::string_view bytes, const row_place& place) const;
  /// @}

private:
  static void close(sqlite3*) noexcept;
  const std::string path_;
  std::chrono::milliseconds busy_timeout_;
  row_cipher cipher_;
  std::unique_ptr<sqlite3, void (*)(sqlite3*)> at_;
};

/// Opens or creates a file for writing. Migrates it to the current schema, switches it to a
/// write-ahead log, and checks the key. A new file has mode 0600.
/// @param survives_power_loss whether every commit is synced to the disk
/// @param key encryption key; empty for a file without encryption
/// @throws checkpoint_error, for example {wrong_key} if the file was created with another key or
///   without a key
[[nodiscard]] database open_for_writing(const std::string& path,
                                        std::chrono::milliseconds busy_timeout,
                                        bool survives_power_loss, std::string_view key);

/// Records `owner` as the owner of the file; see sqlite_checkpointer_options::owner.
/// @throws checkpoint_error{wrong_owner} if the file has another owner
void claim(database& db, const std::string& owner);

/// Returns the path if it is the path of a file. Throws checkpoint_error for SQLite's temporary and
/// in-memory databases, because each connection would open a separate one.
[[nodiscard]] const std::string& checked_file_path(const std::string& path);

/// Migrates the file to the current schema in one transaction. Throws for a file of another program
/// or of a newer version of superstep, without writing to it.
void open_schema(database&);

} // namespace superstep::detail

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

// A thin C++ wrapper of the SQLite API: statements and connections with scoped lifetime, and errors
// as checkpoint_error. Shared by the checkpointer, the store and the cache. Opening a file, its
// schema and its key are in sqlite_schema.cpp.
namespace superstep::detail {

/// A prepared statement. Must not outlive its database. Columns are counted from 0, parameters
/// (`place`) from 1, as in SQLite.
class statement {
public:
  explicit statement(sqlite3_stmt* prepared, const std::string& path)
      : at_{prepared, &finish}, path_{&path} {}

  void bind(int place, std::int64_t n);
  /// The bytes are not copied; they must stay valid until the statement is reset.
  void bind_text(int place, std::string_view text);
  void bind_bytes(int place, std::string_view bytes);
  void bind_null(int place);

  /// Advances to the next row. Returns whether there is one.
  [[nodiscard]] bool step();
  /// Runs the statement to its end and resets it.
  void run();
  /// Runs a statement without rows and resets it. Returns false if the file is busy.
  [[nodiscard]] bool try_run();
  void reset() noexcept;

  [[nodiscard]] std::int64_t number(int column) const noexcept;
  [[nodiscard]] bool is_null(int column) const noexcept;
  /// Returns a column of the current row; the view is valid until the next step.
  [[nodiscard]] std::string_view text(int column) const noexcept;
  [[nodiscard]] std::string_view bytes(int column) const noexcept;

private:
  static void finish(sqlite3_stmt*) noexcept;
  std::unique_ptr<sqlite3_stmt, void (*)(sqlite3_stmt*)> at_;
  const std::string* path_;
};

/// Resets a statement at the end of the scope. A statement that is not reset would keep a read
/// transaction open and block the checkpointing of the log.
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

/// A connection to a database. Used by one thread at a time.
class database {
public:
  enum class access : bool { read_only, read_write };
  /// Opens the file; read_write also creates it.
  /// @param busy_timeout how long each statement waits for another process's transaction
  database(std::string path, access, std::chrono::milliseconds busy_timeout,
           row_cipher cipher = row_cipher{});

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  void exec(const char* sql);
  /// exec() for a statement to which SQLite does not apply the busy timeout, such as a change of
  /// the journal mode. Retries it until the busy timeout has passed.
  void exec_with_retry(const char* sql);
  /// Runs a statement of this database without waiting. Returns false if another connection has
  /// locked the file.
  [[nodiscard]] bool try_run(statement&);
  [[nodiscard]] bool is_in_transaction() const noexcept;
  [[nodiscard]] statement prepare(std::string_view sql);
  [[nodiscard]] std::int64_t pragma(const char* sql);
  /// Whether the file can only be read, because of its permissions or those of its folder.
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
  /// Converts a text to the bytes of a row: compressed if that is shorter, then encrypted, and
  /// back. The encrypted form can only be read at the same place. @{
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

/// Opens or creates a file for writing: migrates it to the current schema, switches it to a
/// write-ahead log, and checks the key. A new file has mode 0600.
/// @param key empty for a file without encryption
/// @throws checkpoint_error, for example {wrong_key} if the file was created with another key or
///   without
[[nodiscard]] database open_for_writing(const std::string& path,
                                        std::chrono::milliseconds busy_timeout,
                                        bool survives_power_loss, std::string_view key);

/// Records `owner` as the file's owner, or throws checkpoint_error{wrong_owner}; see
/// sqlite_checkpointer_options::owner.
void claim(database& db, const std::string& owner);

/// Returns the path if it names a file. Throws checkpoint_error for temporary and in-memory
/// databases: each connection would have a separate one.
[[nodiscard]] const std::string& checked_file_path(const std::string& path);

/// Migrates the file to the current schema in one transaction. Refuses files of other programs and
/// of newer versions of superstep without writing to them.
void open_schema(database&);

} // namespace superstep::detail

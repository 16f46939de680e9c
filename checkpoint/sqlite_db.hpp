// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "row_cipher.hpp"

#include <superstep/checkpoint/saver_error.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

// A small skin over SQLite: statements that are finished and reset by scope, errors that say which
// file. Throws saver_error.
namespace superstep::detail {

class statement {
public:
  explicit statement(sqlite3_stmt* prepared, const std::string& path)
      : at_{prepared, &finish}, path_{&path} {}

  void bind(int place, std::int64_t n);
  /// The bytes must stay until the statement is reset.
  void bind_text(int place, std::string_view text);
  void bind_bytes(int place, std::string_view bytes);
  void bind_null(int place);

  /// True: a row is there.
  [[nodiscard]] bool step();
  /// Steps to the end and makes it ready for the next use.
  void run();
  /// The same; false when the file is busy.
  [[nodiscard]] bool try_run();
  void reset() noexcept;

  [[nodiscard]] std::int64_t number(int column) const noexcept;
  [[nodiscard]] bool is_null(int column) const noexcept;
  /// Valid until the next step.
  [[nodiscard]] std::string_view text(int column) const noexcept;
  [[nodiscard]] std::string_view bytes(int column) const noexcept;

private:
  static void finish(sqlite3_stmt*) noexcept;
  std::unique_ptr<sqlite3_stmt, void (*)(sqlite3_stmt*)> at_;
  const std::string* path_;
};

/// Resets a statement when its use is over, whatever happens.
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

class database {
public:
  enum class access : bool { read_only, read_write };
  database(std::string path, access, std::chrono::milliseconds busy_timeout,
           row_cipher cipher = row_cipher{});

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  void exec(const char* sql);
  /// The same for a statement that SQLite refuses at once when the file is busy, as it does with a
  /// change of the journal's mode: again and again until the busy timeout is over.
  void exec_patiently(const char* sql);
  /// Runs a statement, one of this database's, unless somebody else has the file: then false, and
  /// nobody is waited for.
  [[nodiscard]] bool try_run(statement&);
  [[nodiscard]] bool is_in_transaction() const noexcept;
  [[nodiscard]] statement prepare(std::string_view sql);
  [[nodiscard]] std::int64_t pragma(const char* sql);
  /// Whether the file, or its folder, refuses to be written.
  [[nodiscard]] bool is_read_only() const noexcept;
  [[nodiscard]] std::int64_t last_row() const noexcept;
  [[nodiscard]] std::int64_t changes() const noexcept;
  /// What `act` reads is of one moment, and what it writes is all there or nothing of it.
  /// @param begin how the transaction begins: "BEGIN", or "BEGIN IMMEDIATE" to write
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
  /// Ends a transaction that is open, if one is.
  void roll_back() noexcept;

  [[nodiscard]] const row_cipher& cipher() const noexcept { return cipher_; }
  /// A row as it stands in a table: compressed where that is shorter, then encrypted. The place
  /// names it, and no other row is read there.
  [[nodiscard]] std::string to_row(std::string text, const row_place& place) const;
  [[nodiscard]] result<std::string> from_row(std::string_view bytes, const row_place& place) const;

private:
  static void close(sqlite3*) noexcept;
  const std::string path_;
  std::chrono::milliseconds busy_timeout_;
  row_cipher cipher_;
  std::unique_ptr<sqlite3, void (*)(sqlite3*)> at_;
};

/// A file of ours, ready to be written: in the schema of today, with a write-ahead log. Throws
/// saver_error{wrong_key} when it was made with another key, or without one. A new file can be read
/// by its user alone.
[[nodiscard]] database open_for_writing(const std::string& path,
                                        std::chrono::milliseconds busy_timeout,
                                        bool survives_power_loss, std::string_view key);

/// Makes `owner` the file's owner, or throws saver_error{wrong_owner};
/// see sqlite_saver_options::owner.
void claim(database& db, const std::string& owner);

/// The path, when it names a file that a saver's connections can share. Throws saver_error: SQLite
/// makes another database for each of them of what has no name.
[[nodiscard]] const std::string& shared_file(const std::string& path);

/// Brings the file to the schema of today, in one transaction a version. Refuses files of others
/// and of a later superstep, without writing to them.
void open_schema(database&);

} // namespace superstep::detail

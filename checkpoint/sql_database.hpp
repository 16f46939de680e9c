// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "row_cipher.hpp"

#include <superstep/checkpoint/checkpointer.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

// Access to a database with SQL, so that the reader, the maintenance, the store and the cache exist
// once for all databases. sqlite_db.hpp implements it for SQLite, postgres_db.hpp for PostgreSQL.
namespace superstep::detail {

/// The implementation of a prepared statement by one database; see statement.
class sql_statement {
public:
  sql_statement() = default;
  sql_statement(const sql_statement&) = delete;
  sql_statement& operator=(const sql_statement&) = delete;
  virtual ~sql_statement() = default;

  virtual void bind(int place, std::int64_t n) = 0;
  virtual void bind_text(int place, std::string_view text) = 0;
  virtual void bind_bytes(int place, std::string_view bytes) = 0;
  virtual void bind_null(int place) = 0;
  [[nodiscard]] virtual bool step() = 0;
  virtual void reset() noexcept = 0;
  [[nodiscard]] virtual std::int64_t number(int column) const = 0;
  [[nodiscard]] virtual bool is_null(int column) const = 0;
  [[nodiscard]] virtual std::string_view text(int column) const = 0;
  [[nodiscard]] virtual std::string_view bytes(int column) const = 0;
};

/// A prepared statement. It must not outlive its database. Columns are counted from 0, and
/// parameters (`place`) from 1. Failures are thrown as checkpoint_error.
class statement {
public:
  explicit statement(std::unique_ptr<sql_statement> prepared) : at_{std::move(prepared)} {}

  void bind(int place, std::int64_t n) { at_->bind(place, n); }
  /// Binds a text or bytes without copying; the data must stay valid until the statement is reset.
  /// @{
  void bind_text(int place, std::string_view text) { at_->bind_text(place, text); }
  void bind_bytes(int place, std::string_view bytes) { at_->bind_bytes(place, bytes); }
  /// @}
  void bind_null(int place) { at_->bind_null(place); }

  /// Advances to the next row of the result. Returns false at the end.
  [[nodiscard]] bool step() { return at_->step(); }
  /// Runs the statement to its end and resets it.
  void run();
  void reset() noexcept { at_->reset(); }

  [[nodiscard]] std::int64_t number(int column) const { return at_->number(column); }
  [[nodiscard]] bool is_null(int column) const { return at_->is_null(column); }
  /// Returns a column of the current row. The view is valid until the next step() or reset().
  [[nodiscard]] std::string_view text(int column) const { return at_->text(column); }
  [[nodiscard]] std::string_view bytes(int column) const { return at_->bytes(column); }

  /// Returns the implementation, for the functions of one database.
  [[nodiscard]] sql_statement& held() noexcept { return *at_; }

private:
  std::unique_ptr<sql_statement> at_;
};

/// Resets a statement at the end of a scope. A statement that is not reset keeps its rows in memory
/// or a read transaction open, and SQLite then cannot move the write-ahead log into the database.
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

inline void statement::run() {
  const auto use = statement_use{*this};
  while (step()) {
  }
}

/// The kind of a transaction: one that only reads, or one that excludes other writers from its
/// start.
enum class transaction : bool { read, write };

/// A connection to a database. Only one thread at a time may use it.
///
/// Statements are the same text for all databases. In front of the name of a table stands `@`,
/// which a database replaces by the name of its schema. Parameters are numbered: `?1`.
class database {
public:
  database(std::string name, row_cipher cipher)
      : name_{std::move(name)}, cipher_{std::move(cipher)} {}
  database(const database&) = delete;
  database& operator=(const database&) = delete;
  virtual ~database() = default;

  /// Returns the path of the file or the address of the server, for error texts.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// Runs a statement without parameters and rows.
  virtual void exec(const char* sql) = 0;
  [[nodiscard]] virtual statement prepare(std::string_view sql) = 0;
  /// Returns the number of rows that the last statement has changed.
  [[nodiscard]] virtual std::int64_t changes() const noexcept = 0;
  virtual void begin(transaction) = 0;
  /// Begins a transaction that writes, unless the database is locked: then it returns false without
  /// waiting.
  [[nodiscard]] virtual bool try_begin_write() {
    begin(transaction::write);
    return true;
  }
  virtual void commit() = 0;
  /// Rolls back the open transaction, if there is one.
  virtual void roll_back() noexcept = 0;
  /// Whether texts without encryption are stored in columns for texts, not for bytes.
  [[nodiscard]] virtual bool has_texts_in_byte_columns() const noexcept = 0;
  /// Returns the statement that finds the rows of a checkpoint, for row_reader::chain_of().
  [[nodiscard]] virtual std::string chain_sql(std::string_view columns) const = 0;

  /// Returns the number in the first column of the first row; 0 if there is no row.
  [[nodiscard]] std::int64_t query_number(std::string_view sql) {
    auto s = prepare(sql);
    return s.step() ? s.number(0) : 0;
  }
  /// Calls `act` in a transaction, and rolls back if it throws.
  template <class Act>
  void in_transaction(transaction kind, Act act) {
    begin(kind);
    try {
      act();
      commit();
    } catch (...) {
      roll_back();
      throw;
    }
  }

  [[nodiscard]] const row_cipher& cipher() const noexcept { return cipher_; }
  /// Converts a text to the bytes of a row, and back. The text is compressed with pack_row(), and
  /// then encrypted if there is a key. Encrypted bytes can only be read at the same place. @{
  [[nodiscard]] std::string to_row(std::string text, const row_place& place) const;
  [[nodiscard]] result<std::string> from_row(std::string_view bytes, const row_place& place) const;
  /// @}

private:
  const std::string name_;
  const row_cipher cipher_;
};

} // namespace superstep::detail

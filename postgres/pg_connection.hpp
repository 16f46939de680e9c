// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pg_address.hpp"

#include <superstep/base/error.hpp>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <libpq-fe.h>

namespace superstep::detail {

/// The parameters of a statement, in the binary format of PostgreSQL. They share one string,
/// because a statement may have many short ones.
class pg_parameters {
public:
  void add(std::string_view text);
  void add(std::int64_t number);
  void add(std::int32_t number);
  void add(bool value);
  void add(std::span<const std::int64_t> numbers);
  void add(std::span<const std::int32_t> numbers);
  void add(std::span<const std::int16_t> numbers);
  void add(std::span<const std::string_view> texts);
  void add(std::span<const std::optional<std::string_view>> texts);
  /// Add bytes (bytea), or a list of them. @{
  void add_bytes(std::string_view bytes);
  void add_bytes(std::span<const std::string> all);
  /// @}
  void add_null();
  /// Allocates memory for a number of parameters.
  void reserve(std::size_t count) {
    types_.reserve(count);
    places_.reserve(count);
    constexpr auto usual_bytes = std::size_t{32};
    bytes_.reserve(count * usual_bytes);
  }

private:
  friend class pg_connection;
  /// A part of `bytes_`.
  struct place {
    std::size_t at = 0;
    std::size_t size = 0;
    bool is_null = false;
  };

  /// Adds a parameter with the bytes that were appended since `at`.
  void end(Oid type, std::size_t at) {
    types_.push_back(type);
    places_.push_back({at, bytes_.size() - at});
  }
  template <std::integral Number>
  void add_number(Oid type, Number number);
  template <std::integral Number>
  void add_numbers(Oid list, Oid element, std::span<const Number> numbers);

  std::vector<Oid> types_;
  std::vector<place> places_;
  std::string bytes_;
};

/// The form of the values in an answer. Bytes are read in binary form, numbers in both.
enum class pg_form : bool { text, binary };

/// The rows of the answer to a statement.
class pg_rows {
public:
  explicit pg_rows(PGresult* rows) : rows_{rows, PQclear} {}
  [[nodiscard]] int size() const { return PQntuples(rows_.get()); }
  /// Returns the number of rows that the statement has changed.
  [[nodiscard]] std::int64_t changed() const;
  [[nodiscard]] bool is_null(int row, int column) const {
    return PQgetisnull(rows_.get(), row, column) != 0;
  }
  /// Returns a value; empty if it is null. Valid as long as this object.
  [[nodiscard]] std::string_view text(int row, int column) const;
  /// Returns an integer or a boolean; 0 if it is null.
  [[nodiscard]] std::int64_t number(int row, int column) const;
  /// Returns an array of integers; empty if it is null.
  [[nodiscard]] std::vector<std::int64_t> numbers(int row, int column) const;

private:
  std::unique_ptr<PGresult, decltype(&PQclear)> rows_;
};

/// A connection to a PostgreSQL database. One thread at a time may use it; its functions block, but
/// not longer than the given timeout, and end early if `is_cancelled` returns true.
///
/// An error with errc::io_failed means that the connection was lost or the server is not available;
/// the connection is then closed. Other errors are those of the statement, or mean that the server
/// refuses every connection, for example because of a wrong password. Error texts contain neither
/// the statement nor its parameters. They end with the SQLSTATE if the server has rejected or
/// rolled back a statement, also in the case of errc::io_failed.
class pg_connection {
public:
  /// @param is_cancelled called often while a function waits; may be empty
  explicit pg_connection(pg_address address, std::function<bool()> is_cancelled = {});

  /// Connects if there is no connection. Tries the hosts of the address in order, each for its
  /// `connect_timeout`.
  [[nodiscard]] result<void> connect();
  [[nodiscard]] bool is_open() const noexcept { return connection_ != nullptr; }
  void close() noexcept { connection_.reset(); }
  /// Whether its functions end early, so that it is useless to try again.
  [[nodiscard]] bool is_cancelled() const { return is_cancelled_ && is_cancelled_(); }
  /// Runs one statement with parameters.
  [[nodiscard]] result<pg_rows> run(const char* statement, const pg_parameters& parameters = {},
                                    pg_form form = pg_form::text);
  /// Runs statements without parameters and rows, separated by semicolons.
  [[nodiscard]] result<void> run_script(const char* statements);
  /// Runs statements that create objects of the schema `superstep`, in one transaction. Processes
  /// that do so at the same time wait for each other. After an error, the connection is closed.
  [[nodiscard]] result<void> create_objects(const std::string& statements);
  /// Runs a statement and passes its rows one at a time, without keeping them.
  [[nodiscard]] result<void> for_each_row(const char* statement, const pg_parameters& parameters,
                                          const std::function<result<void>(const pg_rows&)>& row);
  [[nodiscard]] const std::string& name() const noexcept { return address_.name; }
  /// Sets the longest duration of a statement; 60 s by default.
  void set_timeout(std::chrono::milliseconds timeout) noexcept { timeout_ = timeout; }

private:
  using time_point = std::chrono::steady_clock::time_point;

  [[nodiscard]] error failure(const PGresult* of);
  [[nodiscard]] error lost(std::string text);
  [[nodiscard]] error refused();
  [[nodiscard]] result<void> connect(const pg_keywords&, time_point until);
  [[nodiscard]] result<void> wait(bool for_write, time_point until);
  [[nodiscard]] result<void> flush(time_point until);
  [[nodiscard]] result<PGresult*> next_result(time_point until);
  [[nodiscard]] result<pg_rows> last_result(time_point until);
  [[nodiscard]] result<void> send(const char* statement, const pg_parameters& parameters,
                                  pg_form form);

  pg_address address_;
  std::function<bool()> is_cancelled_;
  std::chrono::milliseconds timeout_{60'000};
  std::unique_ptr<PGconn, decltype(&PQfinish)> connection_{nullptr, PQfinish};
};

} // namespace superstep::detail

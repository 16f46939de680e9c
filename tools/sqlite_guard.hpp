// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

// Bounds on what one query of a model may cost, beside the time that the progress handler keeps.
namespace superstep::detail {

class function_watch;

/// Returns an upper bound, at most `max`, of the copies of common table expressions. SQLite copies
/// each at every reference while it compiles, so those that refer to each other grow as powers.
[[nodiscard]] std::size_t expansions_of(std::string_view query, std::size_t max);

/// Whether a query formats with a width of its arguments' or one of five digits and more: SQLite
/// counts to it in one step.
[[nodiscard]] bool has_wide_format(std::string_view query);

/// Sets the limits of a connection: bytes of a value and of the query, operations.
void limit_connection(sqlite3* db, std::size_t value_bytes_max);

/// Lowers the limit of a value for queries with many columns, whose rows SQLite holds whole.
void limit_row(sqlite3* db, sqlite3_stmt* query, std::size_t value_bytes_max);

/// Replaces SQL functions that take time in the product of their arguments' lengths: instr, replace,
/// trim, ltrim, rtrim, like and glob. They ask `watch`, which must outlive the connection. Returns
/// whether it could.
[[nodiscard]] bool replace_slow_functions(sqlite3* db, function_watch& watch);

} // namespace superstep::detail

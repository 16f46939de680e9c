// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

// Limits on the cost of a model's query, besides the timeout that the progress handler checks.
namespace superstep::detail {

class function_watch;

/// Returns an upper bound for the copies of common table expressions that SQLite makes when it
/// compiles the query; at most `max`. SQLite copies an expression at each reference to it, so the
/// number can grow exponentially if expressions refer to each other.
[[nodiscard]] std::size_t expansions_of(std::string_view query, std::size_t max);

/// Whether a query contains a format whose width is an argument or has at least five digits. SQLite
/// writes the padding in one operation.
[[nodiscard]] bool has_wide_format(std::string_view query);

/// Sets limits of a connection: the length of values and queries, and the number of operations.
void limit_connection(sqlite3* db, std::size_t value_bytes_max);

/// Lowers the limit of a value's length if a query has many columns, because SQLite keeps a whole
/// row in memory.
void limit_row(sqlite3* db, sqlite3_stmt* query, std::size_t value_bytes_max);

/// Replaces SQL functions whose time is proportional to the product of their arguments' lengths:
/// instr, replace, trim, ltrim, rtrim, like and glob. The replacements check `watch`, which must
/// outlive the connection. Returns whether all were replaced.
[[nodiscard]] bool replace_slow_functions(sqlite3* db, function_watch& watch);

} // namespace superstep::detail

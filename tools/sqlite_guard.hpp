// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

// Limits on the cost of a model's query, in addition to the timeout of the progress handler.
namespace superstep::detail {

class function_watch;

/// Returns an upper bound, at most `max`, for the copies of common table expressions. SQLite copies
/// an expression at each reference when it compiles a query, so nested references grow
/// exponentially.
[[nodiscard]] std::size_t expansions_of(std::string_view query, std::size_t max);

/// Whether a query contains a format with a width from its arguments, or of five digits or more.
/// SQLite produces the padding in one step.
[[nodiscard]] bool has_wide_format(std::string_view query);

/// Sets limits of a connection: bytes per value and per query, and the number of operations.
void limit_connection(sqlite3* db, std::size_t value_bytes_max);

/// Lowers the limit of a value for queries with many columns, because SQLite keeps a whole row in
/// memory.
void limit_row(sqlite3* db, sqlite3_stmt* query, std::size_t value_bytes_max);

/// Replaces SQL functions whose duration is the product of their arguments' lengths: instr,
/// replace, trim, ltrim, rtrim, like and glob. The replacements check `watch`, which must outlive
/// the connection. Returns whether all could be replaced.
[[nodiscard]] bool replace_slow_functions(sqlite3* db, function_watch& watch);

} // namespace superstep::detail

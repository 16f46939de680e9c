// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/result.hpp>
#include <superstep/tools/tool.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace superstep {

/// Options of make_sqlite_query().
struct sqlite_query_options {
  std::string path;                         ///< of the database
  std::size_t max_rows = 100;               ///< further rows are omitted and the result notes that
  std::size_t max_bytes = 1024 * 1024;      ///< of the result; a longer one is an error result
  std::uint32_t timeout_ms = 5'000;         ///< of one query
  std::size_t value_bytes_max = 512 * 1024; ///< of one value or row, also of intermediate ones
  /// Limit of SQLite's memory in this process while queries of the tool run. Concurrent queries
  /// share it, and memory that checkpointers use through SQLite counts as well.
  std::size_t memory_bytes_max = 64 * 1024 * 1024;
};

/// Makes the tool `sqlite_query` with the argument `query` (one SELECT) and optionally `parameters`
/// (a list of values for its question marks). Its result is a JSON array with an object per row.
/// Queries cannot write or open other files. Other processes may write to the database at the same
/// time.
/// @return an error if the file is not a readable database or a limit is 0
[[nodiscard]] result<tool_ptr> make_sqlite_query(sqlite_query_options options);

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/result.hpp>
#include <superstep/tools/tool.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace superstep {

struct sqlite_query_options {
  std::string path;
  std::size_t max_rows = 100;          ///< further rows are left out, which the result says
  std::size_t max_bytes = 1024 * 1024; ///< of the result; a longer one is an error result
  std::uint32_t timeout_ms = 5'000;    ///< of one query
  std::size_t value_bytes_max = 512 * 1024;         ///< of one value or row, also of those in between
  /// The bound on the memory that SQLite takes in this process while queries of the tool run. Queries
  /// that run at the same time share it. What checkpoints take through SQLite meanwhile counts, too.
  std::size_t memory_bytes_max = 64 * 1024 * 1024;
};

/// `sqlite_query`, with the arguments `query` (one SELECT) and, optionally, `parameters` (a list of
/// values for its question marks): the rows as a JSON array of objects. Nothing can be written, and
/// no other file be opened. The database may be written by others meanwhile.
/// Errors: the file is no database that can be read, a bound of 0.
[[nodiscard]] result<tool_ptr> make_sqlite_query(sqlite_query_options options);

} // namespace superstep

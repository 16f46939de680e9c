// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

struct sqlite3;

namespace superstep::detail {

/// Keeps space for the next commits at the end of the write-ahead log of a connection.
///
/// If a commit makes the log longer, its sync must also store the new size of the file. On ext4
/// this doubles the CPU time of the sync, and its duration grows by half. So the log grows by large
/// pieces of zeros, which commits overwrite. Zeros are not valid frames: SQLite ignores them when
/// it recovers a log.
class log_space {
public:
  /// Sets hooks of the connection, which must be in WAL mode. They replace SQLite's automatic
  /// checkpoints; after_commit() makes these. The connection must not commit after this object is
  /// destroyed.
  /// @param page_size bytes of a page of the database
  log_space(sqlite3* db, std::int64_t page_size) noexcept;
  log_space(const log_space&) = delete;
  log_space& operator=(const log_space&) = delete;
  ~log_space() = default;

private:
  void before_commit() noexcept;
  void after_commit(const char* schema, int frames) noexcept;

  sqlite3* const db_;
  const std::int64_t frame_bytes_;
  int frames_ = 0;         ///< frames in the log after the last commit of this connection
  std::int64_t bytes_ = 0; ///< size of the log, as far as known
};

} // namespace superstep::detail

// SPDX-License-Identifier: Apache-2.0
// Extends the write-ahead log with zeros while the connection holds the log's write lock, so that
// no other connection appends frames meanwhile.
#include "sqlite_log_space.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>

#include <sqlite3.h>

namespace superstep::detail {

namespace {

/// A log with this many frames is copied to the database, and later commits overwrite it. SQLite's
/// default.
constexpr auto frames_max = 1'000;
constexpr auto header_bytes = std::int64_t{32};       // of the log
constexpr auto frame_header_bytes = std::int64_t{24}; // of each page in it
/// Space that a commit should find. A larger commit appends the rest, as without this class.
constexpr auto wanted_bytes = std::int64_t{32} * 1'024;
constexpr auto piece_bytes_min = std::int64_t{64} * 1'024;
constexpr auto piece_bytes_max = std::int64_t{1'024} * 1'024;

constexpr auto zeros = std::array<char, std::size_t{64} * 1'024>{};

/// Returns the file of the log; nullptr if it is not open.
sqlite3_file* log_of(sqlite3* db) noexcept {
  auto* file = static_cast<sqlite3_file*>(nullptr);
  const auto code = sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file);
  return code == SQLITE_OK && file != nullptr && file->pMethods != nullptr ? file : nullptr;
}

} // namespace

log_space::log_space(sqlite3* db, std::int64_t page_size) noexcept
    : db_{db}, frame_bytes_{page_size + frame_header_bytes} {
  sqlite3_commit_hook(
      db,
      [](void* self) {
        static_cast<log_space*>(self)->before_commit();
        return 0; // continue the commit
      },
      this);
  sqlite3_wal_hook(
      db,
      [](void* self, sqlite3*, const char* schema, int frames) {
        static_cast<log_space*>(self)->after_commit(schema, frames);
        return SQLITE_OK;
      },
      this);
}

/// SQLite calls this before it writes the frames of a transaction. The first commit of a connection
/// extends nothing, because the number of frames is not known then, and it may be the only one.
void log_space::before_commit() noexcept {
  const auto needed = header_bytes + frames_ * frame_bytes_ + wanted_bytes;
  if (frames_ == 0 || frames_ >= frames_max || needed <= bytes_)
    return;
  auto* const log = log_of(db_);
  auto size = sqlite3_int64{0};
  if (log == nullptr || log->pMethods->xFileSize(log, &size) != SQLITE_OK)
    return;
  bytes_ = size;
  if (needed <= bytes_)
    return;
  const auto earlier = errno; // of the statement, from which the reason of its failure is taken
  const auto end = bytes_ + std::clamp(bytes_, piece_bytes_min, piece_bytes_max);
  while (bytes_ < end) {
    const auto part = std::min(end - bytes_, static_cast<std::int64_t>(zeros.size()));
    if (log->pMethods->xWrite(log, zeros.data(), static_cast<int>(part), bytes_) != SQLITE_OK)
      break; // the commit reports a full disk, if it needs the space
    bytes_ += part;
  }
  errno = earlier;
}

void log_space::after_commit(const char* schema, int frames) noexcept {
  frames_ = frames;
  if (frames >= frames_max) // as SQLite does without a hook, which also ignores errors here
    sqlite3_wal_checkpoint_v2(db_, schema, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
}

} // namespace superstep::detail

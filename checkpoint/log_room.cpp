// SPDX-License-Identifier: Apache-2.0
#include "log_room.hpp"

#include <algorithm>
#include <array>

#include <sqlite3.h>

namespace superstep::detail {

namespace {

constexpr auto header_bytes = std::int64_t{32};       // of the log
constexpr auto frame_header_bytes = std::int64_t{24}; // of each page in it
/// Frames after which SQLite by itself moves the log into the file.
constexpr auto frames_max = 1'000;
/// What is added at a time: the zeros cost one write of a size that disks like.
constexpr auto added_bytes = std::int64_t{256} * 1024;
/// A larger commit costs more to write than its new length costs to record.
constexpr auto small_commit_bytes = std::int64_t{64} * 1024;

std::int64_t page_bytes(sqlite3* db) {
  auto* s = static_cast<sqlite3_stmt*>(nullptr);
  auto bytes = std::int64_t{4096};
  if (sqlite3_prepare_v2(db, "PRAGMA page_size", -1, &s, nullptr) == SQLITE_OK &&
      sqlite3_step(s) == SQLITE_ROW)
    bytes = sqlite3_column_int64(s, 0);
  sqlite3_finalize(s);
  return bytes;
}

} // namespace

log_room::log_room(sqlite3* db) : db_{db}, frame_bytes_{frame_header_bytes + page_bytes(db)} {
  sqlite3_wal_hook(db, &committed, this);
}

int log_room::committed(void* self, sqlite3* db, const char* name, int frames) noexcept {
  auto& room = *static_cast<log_room*>(self);
  const auto used = header_bytes + frames * room.frame_bytes_;
  room.last_ = used > room.used_ ? used - room.used_ : used; // less: the log has begun again
  room.used_ = used;
  if (frames >= frames_max) // others may read it still: as far as it goes, and again next time
    sqlite3_wal_checkpoint_v2(db, name, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
  return SQLITE_OK;
}

void log_room::make() noexcept {
  static constexpr auto zeros = std::array<char, 16 * 1024>{};
  static_assert(added_bytes % zeros.size() == 0);
  if (last_ == 0 || last_ > small_commit_bytes)
    return;
  auto* log = static_cast<sqlite3_file*>(nullptr);
  auto size = sqlite3_int64{0};
  if (sqlite3_file_control(db_, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log) != SQLITE_OK ||
      log == nullptr || log->pMethods == nullptr ||
      log->pMethods->xFileSize(log, &size) != SQLITE_OK || used_ + 2 * last_ <= size)
    return;
  const auto end = size + added_bytes;
  while (size < end &&
         log->pMethods->xWrite(log, zeros.data(), int{zeros.size()}, size) == SQLITE_OK)
    size += static_cast<std::int64_t>(zeros.size());
}

} // namespace superstep::detail

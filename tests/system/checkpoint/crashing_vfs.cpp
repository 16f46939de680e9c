// SPDX-License-Identifier: Apache-2.0
// An SQLite VFS that forwards to the default one, counts writes and, at a chosen write, simulates a
// kill or a power failure.
#include "system/checkpoint/crashing_vfs.hpp"

#include <csignal>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include <sqlite3.h>
#include <unistd.h>

namespace crash_test {

namespace {

struct shim_file {
  sqlite3_file base;
  sqlite3_file* real;
};

/// Bytes that a write or truncation has replaced.
struct undo {
  sqlite3_file* real;
  sqlite3_int64 at;
  std::string old;
  sqlite3_int64 old_size;
};

struct world {
  std::mutex mutex;
  crash_kind kind = crash_kind::none;
  std::uint64_t crash_at = 0;
  std::uint64_t writes = 0;
  std::vector<undo> unsynced;
  sqlite3_vfs* usual = nullptr;
  sqlite3_vfs ours{};
};
world the; // a global, because SQLite finds VFSs by global name

sqlite3_file* real_of(sqlite3_file* f) noexcept {
  return reinterpret_cast<shim_file*>(f)->real;
}

void note(sqlite3_file* real, sqlite3_int64 at, sqlite3_int64 length) {
  auto u = undo{real, at, {}, 0};
  real->pMethods->xFileSize(real, &u.old_size);
  const auto kept = std::max<sqlite3_int64>(0, std::min(length, u.old_size - at));
  u.old.resize(static_cast<std::size_t>(kept));
  if (kept > 0)
    real->pMethods->xRead(real, u.old.data(), static_cast<int>(kept), at);
  the.unsynced.push_back(std::move(u));
}

[[noreturn]] void crash() {
  if (the.kind == crash_kind::power) {
    for (auto u = the.unsynced.rbegin(); u != the.unsynced.rend(); ++u) {
      if (!u->old.empty())
        u->real->pMethods->xWrite(u->real, u->old.data(), static_cast<int>(u->old.size()), u->at);
      u->real->pMethods->xTruncate(u->real, u->old_size);
    }
  }
  ::kill(::getpid(), SIGKILL);
  while (true)
    ::pause();
}

/// Called before each change of a file.
void before_change(sqlite3_file* real, sqlite3_int64 at, sqlite3_int64 length) {
  const auto lock = std::scoped_lock{the.mutex};
  ++the.writes;
  if (the.kind != crash_kind::none && the.writes == the.crash_at)
    crash();
  if (the.kind == crash_kind::power)
    note(real, at, length);
}

int close_file(sqlite3_file* f) {
  const auto lock = std::scoped_lock{the.mutex};
  auto* const real = real_of(f);
  std::erase_if(the.unsynced, [&](const undo& u) { return u.real == real; });
  return real->pMethods->xClose(real);
}
int read_file(sqlite3_file* f, void* to, int n, sqlite3_int64 at) {
  return real_of(f)->pMethods->xRead(real_of(f), to, n, at);
}
int write_file(sqlite3_file* f, const void* from, int n, sqlite3_int64 at) {
  before_change(real_of(f), at, n);
  return real_of(f)->pMethods->xWrite(real_of(f), from, n, at);
}
int truncate_file(sqlite3_file* f, sqlite3_int64 size) {
  auto old = sqlite3_int64{0};
  real_of(f)->pMethods->xFileSize(real_of(f), &old);
  before_change(real_of(f), size, std::max<sqlite3_int64>(0, old - size));
  return real_of(f)->pMethods->xTruncate(real_of(f), size);
}
int sync_file(sqlite3_file* f, int flags) {
  const auto done = real_of(f)->pMethods->xSync(real_of(f), flags);
  const auto lock = std::scoped_lock{the.mutex};
  std::erase_if(the.unsynced, [&](const undo& u) { return u.real == real_of(f); });
  return done;
}
int file_size(sqlite3_file* f, sqlite3_int64* size) {
  return real_of(f)->pMethods->xFileSize(real_of(f), size);
}
int lock_file(sqlite3_file* f, int level) {
  return real_of(f)->pMethods->xLock(real_of(f), level);
}
int unlock_file(sqlite3_file* f, int level) {
  return real_of(f)->pMethods->xUnlock(real_of(f), level);
}
int check_lock(sqlite3_file* f, int* out) {
  return real_of(f)->pMethods->xCheckReservedLock(real_of(f), out);
}
int control(sqlite3_file* f, int op, void* arg) {
  return real_of(f)->pMethods->xFileControl(real_of(f), op, arg);
}
int sector_size(sqlite3_file* f) {
  return real_of(f)->pMethods->xSectorSize(real_of(f));
}
int characteristics(sqlite3_file* f) {
  return real_of(f)->pMethods->xDeviceCharacteristics(real_of(f));
}
int shm_map(sqlite3_file* f, int page, int size, int extend, volatile void** to) {
  return real_of(f)->pMethods->xShmMap(real_of(f), page, size, extend, to);
}
int shm_lock(sqlite3_file* f, int offset, int n, int flags) {
  return real_of(f)->pMethods->xShmLock(real_of(f), offset, n, flags);
}
void shm_barrier(sqlite3_file* f) {
  real_of(f)->pMethods->xShmBarrier(real_of(f));
}
int shm_unmap(sqlite3_file* f, int remove) {
  return real_of(f)->pMethods->xShmUnmap(real_of(f), remove);
}

constexpr auto version_with_shm = 2; // without memory-mapped reads, which would bypass this VFS
const auto methods =
    sqlite3_io_methods{version_with_shm, close_file,  read_file,       write_file,  truncate_file,
                       sync_file,        file_size,   lock_file,       unlock_file, check_lock,
                       control,          sector_size, characteristics, shm_map,     shm_lock,
                       shm_barrier,      shm_unmap,   nullptr,         nullptr};

int open_file(sqlite3_vfs*, sqlite3_filename name, sqlite3_file* f, int flags, int* out) {
  auto* const own = reinterpret_cast<shim_file*>(f);
  own->real = reinterpret_cast<sqlite3_file*>(own + 1);
  own->base.pMethods = nullptr;
  const auto done = the.usual->xOpen(the.usual, name, own->real, flags, out);
  if (own->real->pMethods != nullptr)
    own->base.pMethods = &methods;
  return done;
}

} // namespace

void install_crashing_vfs(crash_kind kind, std::uint64_t at) {
  the.kind = kind;
  the.crash_at = at;
  the.usual = sqlite3_vfs_find(nullptr);
  the.ours = *the.usual;
  the.ours.zName = "crashing";
  the.ours.szOsFile += static_cast<int>(sizeof(shim_file));
  the.ours.xOpen = open_file;
  sqlite3_vfs_register(&the.ours, 1);
}

std::uint64_t writes_seen() noexcept {
  const auto lock = std::scoped_lock{the.mutex};
  return the.writes;
}

} // namespace crash_test

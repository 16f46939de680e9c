// SPDX-License-Identifier: Apache-2.0
// Locks on threads between processes, as advisory locks on byte ranges of a file (fcntl(2),
// F_OFD_SETLK). thread_locks.hpp explains the layout of the bytes. sqlite_lease_manager.cpp takes
// such a lock after the lease within the process was granted.
#include "thread_locks.hpp"

#include <superstep/base/detail/assert.hpp>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <random>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace superstep::detail {

namespace {

constexpr auto number_bytes = off_t{sizeof(std::uint64_t)};
constexpr auto place_bits = 12U;
constexpr auto places = thread_locks::place{1} << place_bits;

/// Returns the offset of a thread's byte range, derived from the FNV-1a hash of its id. Two threads
/// with the same offset would block each other. The offset has 50 bits of the hash, so that does
/// not occur in practice.
off_t first_byte_of(std::string_view thread_id) noexcept {
  auto hash = std::uint64_t{0xcbf29ce484222325};
  for (const auto c : thread_id) {
    hash ^= static_cast<unsigned char>(c);
    hash *= std::uint64_t{0x100000001b3};
  }
  hash ^= hash >> 29U; // mix high bits into the low ones, which differ little for short names
  return static_cast<off_t>((hash >> (2U + place_bits)) << place_bits);
}

using lock_words = struct flock;

// The locks are "open file description" locks: they belong to the opened file and not to the
// process. So two checkpointers of one process exclude each other as well. And if another part of
// the program closes the same file, the locks are not released.
bool set(int file, short how, off_t first, off_t count) noexcept {
  auto words = lock_words{};
  words.l_type = how;
  words.l_whence = SEEK_SET;
  words.l_start = first;
  words.l_len = count;
  return ::fcntl(file, F_OFD_SETLK, &words) == 0;
}

/// Returns a lock that another open file has on one of these bytes; nullopt if there is no such
/// lock.
std::optional<lock_words> lock_of_others(int file, off_t first, off_t count) noexcept {
  auto words = lock_words{};
  words.l_type = F_WRLCK;
  words.l_whence = SEEK_SET;
  words.l_start = first;
  words.l_len = count;
  if (::fcntl(file, F_OFD_GETLK, &words) != 0 || words.l_type == F_UNLCK)
    return std::nullopt;
  return words;
}

/// Returns the path of the lock file for a database. Symbolic links are resolved, so that all names
/// of the database lead to the same lock file.
std::string lock_file_of(const std::string& database) {
  auto failed = std::error_code{};
  const auto real = std::filesystem::canonical(database, failed);
  return (failed ? database : real.string()) + "-lease";
}

/// A lease of a run: it combines the lease within the process with the lock between processes.
class locked_lease final : public thread_lease {
public:
  locked_lease(lease_ptr own, std::shared_ptr<thread_locks> locks, std::string thread_id,
               thread_locks::place place)
      : own_{std::move(own)}, locks_{std::move(locks)}, thread_id_{std::move(thread_id)},
        place_{place}, seen_{not_looked} {}
  ~locked_lease() override { locks_->unlock(thread_id_); } // before own_ lets the next run proceed
  /// Called before every write, so the usual case must be fast. It reads one number in mapped
  /// memory. The locks are examined only if another process has changed the number by a take-over.
  [[nodiscard]] bool is_held() const noexcept override {
    if (!own_->is_held() || is_lost_.load(std::memory_order_acquire))
      return false;
    const auto now = locks_->takeovers();
    if (now == seen_.load(std::memory_order_acquire))
      return true;
    if (locks_->is_taken_over(thread_id_, place_)) {
      is_lost_.store(true, std::memory_order_release);
      return false;
    }
    seen_.store(now, std::memory_order_release);
    return true;
  }

private:
  /// A value of `seen_` that makes the first is_held() examine the locks.
  static constexpr auto not_looked = ~std::uint64_t{0};

  lease_ptr own_;
  std::shared_ptr<thread_locks> locks_;
  std::string thread_id_;
  thread_locks::place place_;
  mutable std::atomic<std::uint64_t> seen_;
  mutable std::atomic<bool> is_lost_{false};
};

} // namespace

thread_locks::thread_locks(const std::string& database)
    : file_{::open(lock_file_of(database).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)} {
  if (file_ < 0)
    return;
  // A byte after the number makes the file long enough and allocates its page. On a full tmpfs,
  // reading a mapped page that is not allocated ends the process with SIGBUS.
  if (::pwrite(file_, "", 1, number_bytes) != 1)
    return;
  auto* const at = ::mmap(nullptr, number_bytes, PROT_READ, MAP_SHARED, file_, 0);
  number_ = at == MAP_FAILED ? nullptr : static_cast<std::uint64_t*>(at);
}

thread_locks::~thread_locks() {
  if (number_ != nullptr)
    ::munmap(number_, number_bytes);
  if (file_ >= 0)
    ::close(file_);
}

std::optional<thread_locks::place> thread_locks::try_lock(const std::string& thread_id) {
  if (file_ < 0)
    return 0;
  const auto row = first_byte_of(thread_id);
  const auto lock = std::scoped_lock{mutex_};
  const auto held = held_.find(thread_id);
  if (held != held_.end()) {
    if (lock_of_others(file_, row, places))
      return std::nullopt;
    ++held->second.times;
    return held->second.last;
  }
  if (!set(file_, F_WRLCK, row, 1))
    return std::nullopt;
  // Our byte is locked now, so a later take-over finds it. A process that took the thread over
  // earlier has locked a byte after ours and still holds the thread.
  if (lock_of_others(file_, row + 1, places - 1)) {
    (void)set(file_, F_UNLCK, row, 1);
    return std::nullopt;
  }
  held_[thread_id] = {1, 0};
  return 0;
}

/// Returns the first place, starting at `from`, that comes after all places that other processes
/// have locked. Returns `places` if there is none.
thread_locks::place thread_locks::first_place_after_others(off_t row, place from) const noexcept {
  while (from < places) {
    const auto other = lock_of_others(file_, row + from, places - from);
    if (!other)
      return from;
    from = std::max(from + 1, static_cast<place>(other->l_start + other->l_len - row));
  }
  return places;
}

std::optional<thread_locks::place> thread_locks::take_over(const std::string& thread_id) {
  if (file_ < 0)
    return 0;
  const auto row = first_byte_of(thread_id);
  const auto lock = std::scoped_lock{mutex_};
  const auto held = held_.find(thread_id);
  auto at = first_place_after_others(row, held == held_.end() ? place{0} : held->second.last);
  while (at < places && !set(file_, F_WRLCK, row + at, 1)) // another process locked it first
    at = first_place_after_others(row, at);
  if (at >= places)
    return std::nullopt;
  auto& ours = held_[thread_id];
  ++ours.times;
  ours.last = at;
  // Tell the previous holder by changing the number. A random number is used instead of a counter:
  // if two processes increment a counter at the same time, both write the same number, and a third
  // process may miss a take-over. If the write fails, the previous holder notices the take-over
  // when its next checkpoint is rejected.
  auto random = std::random_device{};
  const auto number = (std::uint64_t{random()} << 31U) | random();
  [[maybe_unused]] const auto done = ::pwrite(file_, &number, sizeof number, 0);
  return at;
}

void thread_locks::unlock(const std::string& thread_id) noexcept {
  if (file_ < 0)
    return;
  const auto lock = std::scoped_lock{mutex_};
  const auto held = held_.find(thread_id);
  SUPERSTEP_ASSERT(held != held_.end());
  if (--held->second.times > 0)
    return;
  held_.erase(held);
  (void)set(file_, F_UNLCK, first_byte_of(thread_id), places);
}

std::uint64_t thread_locks::takeovers() const noexcept {
  return number_ == nullptr ? 0 : std::atomic_ref{*number_}.load(std::memory_order_acquire);
}

bool thread_locks::is_taken_over(const std::string& thread_id, place from) const noexcept {
  return file_ >= 0 &&
         lock_of_others(file_, first_byte_of(thread_id) + from + 1, places - from - 1);
}

lease_ptr with_lock(lease_ptr own, std::shared_ptr<thread_locks> locks, std::string thread_id,
                    thread_locks::place place) {
  return std::make_shared<locked_lease>(std::move(own), std::move(locks), std::move(thread_id),
                                        place);
}

} // namespace superstep::detail

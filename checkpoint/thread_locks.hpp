// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/checkpoint/checkpointer.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace superstep::detail {

/// Locks on the threads of a database, among all processes that use the database. They are locks of
/// the operating system on bytes of a file next to the database. When a process ends, even by a
/// crash, the system releases its locks. So no heartbeat is needed.
///
/// Each thread has a range of bytes in the file. A run that finds the thread free locks the first
/// byte. A run that takes the thread over locks the byte after all locked bytes. The run with the
/// last locked byte holds the thread. The content of the file is a single number, which changes
/// with each take-over. A holder examines the locks only after the number has changed.
/// @par Threads
/// All members may be called from any thread.
class thread_locks {
public:
  /// Index of a run's byte in the range of the thread.
  using place = std::int64_t;

  /// Opens or creates the lock file. If that fails, no locks are taken. sqlite_sink still detects
  /// conflicting writes, and rejects them.
  explicit thread_locks(const std::string& database);
  thread_locks(const thread_locks&) = delete;
  thread_locks& operator=(const thread_locks&) = delete;
  ~thread_locks();

  /// Locks a thread. The same object may lock a thread several times.
  /// @return the place of the lock; nullopt if another process holds the thread
  [[nodiscard]] std::optional<place> try_lock(const std::string& thread_id);
  /// Locks a thread even if another process holds it.
  /// @return the place of the lock; nullopt if running processes have locked all 4,096 places
  [[nodiscard]] std::optional<place> take_over(const std::string& thread_id);
  /// Releases one lock; call it once per successful try_lock() or take_over().
  void unlock(const std::string& thread_id) noexcept;
  /// Returns a number that changes with each take-over of any thread. It only reads mapped memory,
  /// so it is fast.
  [[nodiscard]] std::uint64_t takeovers() const noexcept;
  /// Whether another process has taken the thread over from the run whose lock is at `from`.
  [[nodiscard]] bool is_taken_over(const std::string& thread_id, place from) const noexcept;

private:
  /// The locks of this object on one thread.
  struct own_locks {
    std::size_t times = 0; ///< how often the thread is locked
    place last = 0;        ///< the last place
  };

  [[nodiscard]] place first_place_after_others(off_t row, place from) const noexcept;

  int file_ = -1;
  std::uint64_t* number_ = nullptr; // mapped read-only from the file; null if it cannot be mapped
  std::mutex mutex_;
  std::map<std::string, own_locks, std::less<>> held_;
};

/// Combines a lease within the process with the lock that was acquired for it.
/// @param place result of try_lock() or take_over()
[[nodiscard]] lease_ptr with_lock(lease_ptr own, std::shared_ptr<thread_locks> locks,
                                  std::string thread_id, thread_locks::place place);

} // namespace superstep::detail

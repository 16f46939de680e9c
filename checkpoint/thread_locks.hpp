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

/// Locks on the threads of a database, among all processes that use it. They are locks of the
/// operating system on bytes of a file next to the database. The system releases them when the
/// process ends, in whatever way, so no heartbeat is needed.
///
/// Each thread has a range of bytes. A run that finds the thread free locks the first byte. A run
/// that takes the thread over locks the byte after those of all others; the run with the last byte
/// holds the thread. The content of the file is a single number that changes with each take-over. A
/// holder examines the locks only after the number has changed.
/// @par Threads
/// All members may be called from any thread.
class thread_locks {
public:
  /// Index of a run's byte in the range of the thread.
  using place = std::int64_t;

  /// Opens or creates the lock file. If that fails, no locks are taken; conflicting writes are
  /// still detected by the compare-and-set in the writer.
  explicit thread_locks(const std::string& database);
  thread_locks(const thread_locks&) = delete;
  thread_locks& operator=(const thread_locks&) = delete;
  ~thread_locks();

  /// Locks a thread. Within one process it may be locked several times.
  /// @return nullopt if another process holds it
  [[nodiscard]] std::optional<place> try_lock(const std::string& thread_id);
  /// Locks a thread even if another process holds it.
  /// @return nullopt if all 4,096 places are occupied by runs that are still alive
  [[nodiscard]] std::optional<place> take_over(const std::string& thread_id);
  /// Releases one lock; call it once per successful try_lock() or take_over().
  void unlock(const std::string& thread_id) noexcept;
  /// Returns a number that changes with each take-over of any thread. Reads mapped memory only.
  [[nodiscard]] std::uint64_t takeovers() const noexcept;
  /// Whether another process has taken the thread over from the holder of this place.
  [[nodiscard]] bool is_taken_over(const std::string& thread_id, place from) const noexcept;

private:
  struct own_locks {
    std::size_t times = 0;
    place last = 0;
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

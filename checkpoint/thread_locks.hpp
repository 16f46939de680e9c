// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/checkpoint/saver.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace superstep::detail {

/// Which threads of a database have a run, for all processes that use it: locks of the operating
/// system on bytes of a file beside the database. They go with their process, however that ends, so
/// no heartbeat is needed.
///
/// A thread has a row of bytes. The first is that of a run that found nobody else; each one that
/// takes the thread over locks the byte after those of all others, so the last one has the thread.
/// The file itself holds one number, which changes with each take-over: whoever has a thread looks
/// at the locks only when it has.
/// @par Threads
/// All members may be called from any thread.
class thread_locks {
public:
  /// The place of a run among those that have or had the thread.
  using place = std::int64_t;

  /// A file that cannot be made locks nothing: rows are compared and set in any case.
  explicit thread_locks(const std::string& database);
  thread_locks(const thread_locks&) = delete;
  thread_locks& operator=(const thread_locks&) = delete;
  ~thread_locks();

  /// Nothing: another process has it. Within this one a thread may be locked more than once.
  [[nodiscard]] std::optional<place> try_lock(const std::string& thread_id);
  /// The thread is ours, whoever has it. Nothing: it was taken over again and again, and all of
  /// those that had it are still there.
  [[nodiscard]] std::optional<place> take_over(const std::string& thread_id);
  /// Once for each lock.
  void unlock(const std::string& thread_id) noexcept;
  /// What changes with each take-over of a thread; costs nothing to ask.
  [[nodiscard]] std::uint64_t takeovers() const noexcept;
  /// Whether another process has taken a thread over from who has this place.
  [[nodiscard]] bool is_taken_over(const std::string& thread_id, place from) const noexcept;

private:
  struct own_locks {
    std::size_t times = 0;
    place last = 0;
  };

  [[nodiscard]] place after_others(off_t row, place from) const noexcept;

  int file_ = -1;
  std::uint64_t* number_ = nullptr; // of the file, only read here; null: it cannot be
  std::mutex mutex_;
  std::map<std::string, own_locks, std::less<>> held_;
};

/// A lease of this process with the lock of the operating system that has been got for it.
[[nodiscard]] lease_ptr with_lock(lease_ptr own, std::shared_ptr<thread_locks> locks,
                                  std::string thread_id, thread_locks::place place);

} // namespace superstep::detail

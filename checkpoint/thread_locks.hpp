// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/checkpoint/saver.hpp>

#include <map>
#include <mutex>
#include <string>

namespace superstep::detail {

/// Which threads of a database have a run, for all processes that use it: locks of the operating
/// system on bytes of a file beside the database, one byte a thread. They go with their process,
/// however that ends, so no heartbeat is needed, and nothing is written.
/// @par Threads
/// All members may be called from any thread.
class thread_locks {
public:
  /// A file that cannot be made locks nothing: rows are compared and set in any case.
  explicit thread_locks(const std::string& database);
  thread_locks(const thread_locks&) = delete;
  thread_locks& operator=(const thread_locks&) = delete;
  ~thread_locks();

  /// False: another process has it. Within this one a thread may be locked more than once.
  [[nodiscard]] bool try_lock(const std::string& thread_id);
  void unlock(const std::string& thread_id) noexcept;

private:
  int file_ = -1;
  std::mutex mutex_;
  std::map<std::string, std::size_t, std::less<>> held_; // how often
};

/// A lease of this process with the lock of the operating system, if it has that.
[[nodiscard]] lease_ptr with_lock(lease_ptr own, std::shared_ptr<thread_locks> locks,
                                  std::string thread_id);

} // namespace superstep::detail

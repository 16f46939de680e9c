// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lease_manager.hpp"
#include "lease_queue.hpp"
#include "thread_locks.hpp"
#include "write_queue.hpp"

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace superstep::detail {

/// Grants leases on the threads of a database. A run must first get the lease among the runs of
/// this checkpointer, and then the file lock among processes. All members may be called from any
/// operating-system thread.
class sqlite_lease_manager final : public lease_manager {
public:
  sqlite_lease_manager(const std::string& path, const std::shared_ptr<write_queue>& writer);
  /// See checkpointer::take(). If the run has to wait for another process, the writer thread calls
  /// `done`.
  void take(const std::string& thread_id, busy_policy choice,
            std::function<void(result<lease_ptr>)> done) override;

private:
  std::shared_ptr<lease_queue> queue_ = std::make_shared<lease_queue>();
  std::shared_ptr<thread_locks> locks_;
  std::weak_ptr<write_queue> writer_;
  /// The number of runs that wait for another process.
  std::shared_ptr<std::atomic<std::size_t>> waiting_ =
      std::make_shared<std::atomic<std::size_t>>(std::size_t{0});
};

} // namespace superstep::detail

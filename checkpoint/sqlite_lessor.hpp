// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sqlite_writer.hpp"
#include "thread_desk.hpp"
#include "thread_locks.hpp"

#include <functional>
#include <memory>
#include <string>

namespace superstep::detail {

/// Hands out the threads of a database: first among the runs of this saver, then among processes.
class sqlite_lessor {
public:
  sqlite_lessor(const std::string& path, const std::shared_ptr<sqlite_writer>& writer);
  /// See saver::take(); a run that waits for another process may be called from the writer.
  void take(const std::string& thread_id, when_in_use choice,
            std::function<void(result<lease_ptr>)> done);

private:
  std::shared_ptr<thread_desk> desk_ = std::make_shared<thread_desk>();
  std::shared_ptr<thread_locks> locks_;
  std::weak_ptr<sqlite_writer> writer_;
};

} // namespace superstep::detail

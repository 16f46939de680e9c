// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/checkpoint/checkpointer.hpp>

#include <functional>
#include <string>

namespace superstep::detail {

/// Grants leases on the threads of a database, among all processes that use it. All members may be
/// called from any operating-system thread.
class lease_manager {
public:
  lease_manager() = default;
  lease_manager(const lease_manager&) = delete;
  lease_manager& operator=(const lease_manager&) = delete;
  virtual ~lease_manager() = default;

  /// See checkpointer::take(). With any policy but `wait`, `done` is called before take() returns.
  virtual void take(const std::string& thread_id, busy_policy choice,
                    std::function<void(result<lease_ptr>)> done) = 0;
  /// Whether a lease must last until all writes of its run are saved, because another process could
  /// otherwise acquire the thread before, and the writes would be rejected.
  [[nodiscard]] virtual bool releases_after_writes() const noexcept { return false; }
};

} // namespace superstep::detail

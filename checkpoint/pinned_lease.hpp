// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sqlite_writer.hpp"

#include <memory>
#include <mutex>
#include <utility>

namespace superstep::detail {

/// A lease that keeps the cached state of its thread (thread_state) in memory. While a run holds
/// the lease, the state is not evicted, and loads by other callers do not replace the newest
/// checkpoint that the run has written.
class pinned_lease final : public thread_lease {
public:
  /// @pre the caller has incremented `thread->leases` for this lease
  pinned_lease(lease_ptr own, thread_state_ptr thread,
               std::shared_ptr<sqlite_writer> writer) noexcept
      : own_{std::move(own)}, thread_{std::move(thread)}, writer_{std::move(writer)} {}
  ~pinned_lease() override {
    const auto lock = std::scoped_lock{writer_->mutex()};
    --thread_->leases;
  }
  [[nodiscard]] bool is_held() const noexcept override { return own_->is_held(); }

private:
  const lease_ptr own_;
  const thread_state_ptr thread_;
  const std::shared_ptr<sqlite_writer> writer_;
};

} // namespace superstep::detail

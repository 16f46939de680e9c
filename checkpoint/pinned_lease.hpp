// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "write_queue.hpp"

#include <memory>
#include <mutex>
#include <utility>

namespace superstep::detail {

/// A lease that keeps the cached state of its thread (thread_state) in memory. While a run holds
/// the lease, the state is not evicted, and loads by other callers do not replace the newest
/// checkpoint that the run has written.
class pinned_lease final : public thread_lease {
public:
  /// @param lasts_until_saved see lease_manager::releases_after_writes()
  /// @pre the caller has incremented `thread->leases` for this lease
  pinned_lease(lease_ptr own, thread_state_ptr thread, std::shared_ptr<write_queue> writer,
               bool lasts_until_saved) noexcept
      : own_{std::move(own)}, thread_{std::move(thread)}, writer_{std::move(writer)},
        lasts_until_saved_{lasts_until_saved} {}
  ~pinned_lease() override {
    const auto lock = std::scoped_lock{writer_->mutex()};
    --thread_->leases;
    if (!lasts_until_saved_)
      return;
    writer_->flush(thread_);
    if (thread_->saved < thread_->enqueued)
      thread_->on_saved.emplace_back(thread_->enqueued, [own = own_] {});
  }
  [[nodiscard]] bool is_held() const noexcept override { return own_->is_held(); }

private:
  lease_ptr own_;
  const thread_state_ptr thread_;
  const std::shared_ptr<write_queue> writer_;
  const bool lasts_until_saved_;
};

} // namespace superstep::detail

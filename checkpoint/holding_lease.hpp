// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sqlite_writer.hpp"

#include <memory>
#include <mutex>
#include <utility>

namespace superstep::detail {

/// A run has a thread: its book stays in memory, and a head that the run has written is nobody
/// else's to change.
class holding_lease final : public thread_lease {
public:
  /// @pre the book's `leases` counts this one already
  holding_lease(lease_ptr own, book_ptr of, std::shared_ptr<sqlite_writer> writer) noexcept
      : own_{std::move(own)}, of_{std::move(of)}, writer_{std::move(writer)} {}
  ~holding_lease() override {
    const auto lock = std::scoped_lock{writer_->mutex()};
    --of_->leases;
  }
  [[nodiscard]] bool is_held() const noexcept override { return own_->is_held(); }

private:
  const lease_ptr own_;
  const book_ptr of_;
  const std::shared_ptr<sqlite_writer> writer_;
};

} // namespace superstep::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lease_manager.hpp"
#include "row_reader.hpp"
#include "write_queue.hpp"

#include <memory>

namespace superstep::detail {

/// The database of a row_checkpointer. Each function opens connections of its own, and throws
/// checkpoint_error if it cannot.
class checkpoint_backend {
public:
  checkpoint_backend() = default;
  checkpoint_backend(const checkpoint_backend&) = delete;
  checkpoint_backend& operator=(const checkpoint_backend&) = delete;
  virtual ~checkpoint_backend() = default;

  /// Opens the database for writing. It is called first.
  [[nodiscard]] virtual std::unique_ptr<row_sink> make_sink() = 0;
  [[nodiscard]] virtual std::unique_ptr<row_reader> make_reader() = 0;
  [[nodiscard]] virtual std::unique_ptr<lease_manager>
  make_leases(const std::shared_ptr<write_queue>&) = 0;
};

} // namespace superstep::detail

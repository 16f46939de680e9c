// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/detail/executor.hpp>

namespace superstep {

/// The waits of a body that have ended and for which the body was not resumed yet, in the order of
/// their ends. Several waits of a body may end at the same time. Owns its waits. Not thread-safe.
class wait_list {
public:
  wait_list() = default;
  wait_list(const wait_list&) = delete;
  wait_list& operator=(const wait_list&) = delete;
  ~wait_list() { clear(); }

  [[nodiscard]] bool is_empty() const noexcept { return last_ == nullptr; }
  /// Adds a wait at the end.
  void add(wait_ptr&& w) noexcept;
  /// Removes and returns the first wait that still has its frame. Returns null if there is none.
  [[nodiscard]] wait_ptr take() noexcept;
  void clear() noexcept;

private:
  [[nodiscard]] wait_ptr take_first() noexcept;

  wait* last_ = nullptr;
};

} // namespace superstep

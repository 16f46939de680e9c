// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

namespace superstep {

/// Marks the calling thread, while the object exists, as one that calls bodies or the callbacks of
/// runs. Such a thread must not wait until an engine has room for a run, because the runs that
/// would make room may need the thread.
class engine_scope {
public:
  engine_scope() noexcept : before_{std::exchange(is_inside_, true)} {}
  engine_scope(const engine_scope&) = delete;
  engine_scope& operator=(const engine_scope&) = delete;
  ~engine_scope() { is_inside_ = before_; }

  /// Whether the calling thread is marked.
  [[nodiscard]] static bool is_inside() noexcept { return is_inside_; }

private:
  static inline thread_local bool is_inside_ = false;
  bool before_;
};

} // namespace superstep

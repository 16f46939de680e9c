// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/checkpoint/checkpointer.hpp>

#include <atomic>
#include <cstddef>
#include <memory>

namespace superstep::graph_cases {

/// Where the threads of one case are kept: in memory, or with SUPERSTEP_CHECKPOINTER=sqlite in a
/// database of its own that is closed and opened again between any two calls.
class case_checkpointer : public checkpointer {
public:
  [[nodiscard]] static std::shared_ptr<case_checkpointer> make();
  virtual void reopen() = 0;

  /// From now on the process dies with the n-th checkpoint of the outermost graph that is saved: it
  /// and all before it are kept, nothing after it is. 0: it lives.
  void die_with(std::size_t n) noexcept { left_ = n; }
  [[nodiscard]] bool is_dead() const noexcept { return is_dead_; }
  /// The next process begins.
  void revive() noexcept { is_dead_ = false; }

protected:
  /// A checkpoint was saved. Throws checkpoint_error: it was the last thing that this process did.
  void note_saved(const thread_key&);
  /// Throws checkpoint_error when the process is dead.
  void check_alive() const;

private:
  std::atomic<std::size_t> left_{0};
  std::atomic<bool> is_dead_{false};
};

} // namespace superstep::graph_cases

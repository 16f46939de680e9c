// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/checkpoint/checkpointer.hpp>

#include <atomic>
#include <cstddef>
#include <memory>

namespace superstep::graph_cases {

/// The checkpointer of one case: in memory, or with SUPERSTEP_CHECKPOINTER=sqlite in a temporary
/// database that is closed and opened again between any two calls.
class case_checkpointer : public checkpointer {
public:
  [[nodiscard]] static std::shared_ptr<case_checkpointer> make();
  virtual void reopen() = 0;

  /// Simulates the death of the process at the n-th checkpoint of the outermost graph from now on.
  /// This checkpoint and all earlier ones are stored, later writes are not. 0 turns the simulation
  /// off.
  void die_with(std::size_t n) noexcept { left_ = n; }
  [[nodiscard]] bool is_dead() const noexcept { return is_dead_; }
  /// Simulates the start of the next process.
  void revive() noexcept { is_dead_ = false; }

protected:
  /// Counts a stored checkpoint. Throws checkpoint_error if the process dies at this checkpoint.
  void note_saved(const thread_key&);
  /// Throws checkpoint_error if the process is dead.
  void check_alive() const;

private:
  std::atomic<std::size_t> left_{0};
  std::atomic<bool> is_dead_{false};
};

} // namespace superstep::graph_cases

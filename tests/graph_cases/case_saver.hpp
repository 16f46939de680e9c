// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/checkpoint/saver.hpp>

#include <atomic>
#include <cstddef>
#include <memory>

namespace superstep::graph_cases {

/// Where the threads of one case are kept: in memory, or with SUPERSTEP_SAVER=sqlite in a database
/// of its own that is closed and opened again between any two calls.
class case_saver : public saver {
public:
  [[nodiscard]] static std::shared_ptr<case_saver> make();
  virtual void reopen() = 0;

  /// From now on the process dies with the n-th checkpoint of the outermost graph that is saved: it
  /// and all before it are kept, nothing after it is. 0: it lives.
  void die_with(std::size_t n) noexcept { left_ = n; }
  [[nodiscard]] bool is_dead() const noexcept { return is_dead_; }
  /// The next process begins.
  void revive() noexcept { is_dead_ = false; }

protected:
  /// A checkpoint was saved. Throws saver_error: it was the last thing that this process did.
  void note_saved(const thread_key&);
  /// Throws saver_error when the process is dead.
  void check_alive() const;

private:
  std::atomic<std::size_t> left_{0};
  std::atomic<bool> is_dead_{false};
};

} // namespace superstep::graph_cases

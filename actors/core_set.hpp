// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <sched.h>

namespace superstep {

/// The cores on which the threads of an engine run (engine_options::cores). Immutable, so threads
/// may share it.
class core_set {
public:
  /// Chooses `count` of the cores that the calling thread may use. Engines of one process get
  /// different cores as long as there are unused ones, starting at the core `home`. 0: all cores,
  /// which limits nothing.
  explicit core_set(std::size_t count, int home = home_of_process());

  /// Whether the threads run on fewer cores than the thread that made the set.
  [[nodiscard]] bool is_limited() const noexcept { return is_limited_; }
  /// Returns the number of cores, at least 1.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// Confines the calling thread, and the threads that it starts from now on, to these cores.
  void confine_thread() const noexcept;

private:
  /// Returns the core on which the process ran when it made its first set. The system places
  /// processes on idle cores, so processes that run side by side start at different cores.
  static int home_of_process() noexcept;

  cpu_set_t cores_ = {};
  std::size_t size_ = 1;
  bool is_limited_ = false;
};

/// Confines the calling thread to the cores of an engine for the lifetime of the object, so that
/// the threads that a library starts meanwhile are confined too.
class confined_scope {
public:
  explicit confined_scope(const core_set& cores) noexcept;
  confined_scope(const confined_scope&) = delete;
  confined_scope& operator=(const confined_scope&) = delete;
  ~confined_scope();

private:
  cpu_set_t before_ = {};
  bool must_restore_ = false;
};

} // namespace superstep

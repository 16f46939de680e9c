// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "net/child_spawn.hpp"

#include <superstep/base/error.hpp>

#include <set>

namespace superstep {

/// Kills the process groups of running programs when this process ends in any way, even by SIGKILL.
/// The guard is a small process (/bin/sh) that knows the groups and waits until the socket to this
/// process is closed. It is started with the first program, and again if it was killed.
///
/// A new process reports itself to the guard before it executes the program. Therefore the guard
/// knows it before it can have children. The guard does not reach processes that leave the group
/// with setsid(2).
///
/// @par Threads
/// Used by one thread at a time.
class program_guard {
public:
  program_guard() = default;
  program_guard(const program_guard&) = delete;
  program_guard& operator=(const program_guard&) = delete;
  /// Ends the guard, which kills the remaining groups.
  ~program_guard();

  /// Returns the socket to which a new process writes its group; -1 if there is no /bin/sh. Fails
  /// with errc::shortage if the guard cannot be started now.
  [[nodiscard]] result<int> socket();
  /// Records a program that has reported itself with announce().
  void started(int pid) { running_.insert(pid); }
  /// Removes a program.
  /// @pre it has not been reaped, so that its id is not reused yet
  void ended(int pid) noexcept;

private:
  [[nodiscard]] bool is_alive() const noexcept;
  [[nodiscard]] result<> start();
  void stop() noexcept;

  unique_fd socket_;
  int pid_ = 0; // 0 if the guard is not running
  bool is_impossible_ = false;
  std::set<int> running_;
};

/// Writes the id of a process group to the guard. `sign` is '-' to remove the group, 0 to add it.
/// Makes only system calls and does not block, because a guard that does not read must not delay
/// the program.
void announce(int socket, char sign, int pid) noexcept;

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "net/child_spawn.hpp"

#include <superstep/base/error.hpp>

#include <set>

namespace superstep {

/// Kills the process groups of running programs when this process ends in any way, including
/// SIGKILL. The guard is a small process (/bin/sh) that knows the groups and waits for the end of
/// the socket to this process. It starts with the first program, and again if it was killed.
///
/// A program announces itself before it runs any code of its own, so the guard knows of it before
/// it can have children. Processes that leave the group with setsid(2) are not reached.
///
/// @par Threads
/// One at a time.
class program_guard {
public:
  program_guard() = default;
  program_guard(const program_guard&) = delete;
  program_guard& operator=(const program_guard&) = delete;
  /// Ends the guard, which kills the remaining groups.
  ~program_guard();

  /// Returns the socket to which a program announces its group; -1 if there is no /bin/sh. Fails
  /// with errc::shortage if the guard cannot be started now.
  [[nodiscard]] result<int> socket();
  /// Adds a program that has announced itself.
  void started(int pid) { running_.insert(pid); }
  /// Removes a program. @pre it has not been reaped, so its id is not reused
  void ended(int pid) noexcept;

private:
  [[nodiscard]] bool is_alive() const noexcept;
  [[nodiscard]] result<> start();
  void stop() noexcept;

  unique_fd socket_;
  int pid_ = 0; // 0: not running
  bool is_impossible_ = false;
  std::set<int> running_;
};

/// Writes a group's id to the guard. Async-signal-safe and non-blocking: a guard that does not read
/// must not delay the program.
void announce(int socket, char sign, int pid) noexcept;

} // namespace superstep

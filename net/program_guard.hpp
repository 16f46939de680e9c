// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "net/child_spawn.hpp"

#include <superstep/base/error.hpp>

#include <set>

namespace superstep {

/// Kills the process groups of running programs when this process ends in any way, SIGKILL
/// included: a small process of its own (/bin/sh) that knows the groups and waits for the end of
/// the socket to us. Started with the first program; started again if it was killed.
///
/// A program announces itself before it runs any of its own code, so there is no moment in which it
/// has children that the guard does not know. What leaves its group by setsid(2) is not reached.
///
/// @par Threads
/// One at a time.
class program_guard {
public:
  program_guard() = default;
  program_guard(const program_guard&) = delete;
  program_guard& operator=(const program_guard&) = delete;
  /// Ends the guard, which kills the groups that are left.
  ~program_guard();

  /// The socket that a program announces its group to; -1 without /bin/sh. Fails with
  /// errc::shortage when the guard cannot be started now.
  [[nodiscard]] result<int> socket();
  /// Adds a program that has announced itself.
  void started(int pid) { running_.insert(pid); }
  /// Removes a program. @pre not waited for yet: its number cannot be another group's
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

/// Writes a group's number to the guard; async-signal-safe. Never waits: a guard that does not read
/// must not stop the program.
void announce(int socket, char sign, int pid) noexcept;

} // namespace superstep

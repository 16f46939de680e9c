// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>
#include <superstep/base/task.hpp>
#include <superstep/net/io_runtime.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace superstep {

/// Resource limits for a program and its children (setrlimit(2)). Unset: the limit of this process;
/// for open files, its limit before raise_descriptor_limit().
struct process_limits {
  std::optional<std::uint64_t> memory_bytes{}; ///< address space per process, in bytes
  std::optional<std::chrono::seconds> cpu{};   ///< processor time per process
  std::optional<std::uint64_t> files{};        ///< open files per process
  /// Processes of the user, including those outside the program.
  std::optional<std::uint64_t> processes{};
};

/// A program to run once, without a shell.
struct process_request {
  std::vector<std::string> argv; ///< the program, found through PATH, and its arguments
  std::string stdin_text;        ///< written to its standard input, which is then closed
  /// Its complete environment; unset: the environment of this process.
  std::optional<std::vector<std::pair<std::string, std::string>>> environment;
  std::string working_directory; ///< empty: that of this process
  process_limits limits{};
  /// From the call of run_process(); unset: no limit.
  std::optional<std::chrono::milliseconds> timeout{std::chrono::milliseconds{60'000}};
  /// Maximum wait for free descriptors, processes and memory. Part of `timeout`.
  std::chrono::milliseconds start_wait_max{30'000};
  std::size_t output_bytes_max = 1024 * 1024; ///< of standard output; more kills the program
  std::size_t error_bytes_max = 4 * 1024;     ///< of standard error; the rest is discarded
};

/// The end of a program: `exit_status`, or `signal` if a signal killed it.
struct process_result {
  int exit_status = 0;
  int signal = 0;                   ///< 0: it exited by itself
  std::string stdout_text;          ///< at most output_bytes_max bytes
  std::string stderr_text;          ///< the first error_bytes_max bytes
  bool is_output_truncated = false; ///< whether it was killed for exceeding output_bytes_max

  /// Whether the program succeeded and its output is complete.
  [[nodiscard]] bool ok() const noexcept {
    return exit_status == 0 && signal == 0 && !is_output_truncated;
  }
};

/// Returns the path of a program as run_process() finds it.
/// @param name used unchanged if it contains a slash
/// @param path a list of folders as in the environment variable PATH
/// @return errc::not_found if the program does not exist, or an error if it is not executable
[[nodiscard]] result<std::string> find_program(const std::string& name, std::string_view path);

/// Returns what would prevent the program from ever starting: no such program or folder, a file
/// that is not executable, a script with a missing interpreter, or a kernel without pidfd_open(2);
/// nullopt if there is nothing. Does not run the program.
[[nodiscard]] std::optional<error> find_start_fault(const process_request& request);

/// Runs a program and waits for its end. Any number of programs may run at a time; waiting suspends
/// the coroutine and blocks no thread.
///
/// The program gets default signal handlers and a process group of its own. The group is killed at
/// the timeout, when there is too much output, when the awaiting coroutine is destroyed, and after
/// the program itself has exited. So nothing that a call has started outlives the call, except
/// processes that leave the group with setsid(2). The group is also killed when this process ends,
/// even by SIGKILL: a guard process does that, and the kernel kills the program itself
/// (PR_SET_PDEATHSIG), unless it is set-user-ID.
///
/// If the machine lacks descriptors, processes or memory, programs wait in the order of their
/// calls. They are started when another program ends, or after a growing pause.
///
/// @param io must outlive the task
/// @return how the program ended, or an error: errc::shortage (no resources within
/// start_wait_max; nothing was run), errc::not_found (no such program or folder),
/// errc::timed_out, errc::cancelled (the io_runtime was destroyed), errc::invalid_argument, or the
/// code of the failed system call
[[nodiscard]] task<result<process_result>> run_process(io_runtime& io, process_request request);

} // namespace superstep

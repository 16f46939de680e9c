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

/// Resource limits for a program and its children (setrlimit(2)). A member that is not set means
/// the limit of this process; for open files, its limit before raise_descriptor_limit() was called.
struct process_limits {
  std::optional<std::uint64_t> memory_bytes{}; ///< address space per process, in bytes
  std::optional<std::chrono::seconds> cpu{};   ///< processor time per process
  std::optional<std::uint64_t> files{};        ///< open files per process
  /// Processes of the user, including those outside the program.
  std::optional<std::uint64_t> processes{};
};

/// A program to run once, without a shell.
struct process_request {
  std::vector<std::string> argv{}; ///< the program, found through PATH, and its arguments
  std::string stdin_text{};        ///< written to its standard input, which is then closed
  /// The complete environment of the program; unset: the environment of this process.
  std::optional<std::vector<std::pair<std::string, std::string>>> environment{};
  std::string working_directory{}; ///< folder to run in; empty: that of this process
  process_limits limits{};         ///< resource limits of the program
  /// Maximum time from the call of run_process(); not set: no limit.
  std::optional<std::chrono::milliseconds> timeout{std::chrono::milliseconds{60'000}};
  /// Maximum wait for free descriptors, processes and memory. Part of `timeout`.
  std::chrono::milliseconds start_wait_max{30'000};
  std::size_t output_bytes_max = 1024 * 1024; ///< maximum standard output; with more it is killed
  std::size_t error_bytes_max = 4 * 1024;     ///< maximum standard error; the rest is discarded
};

/// The outcome of a program that has ended.
struct process_result {
  int exit_status = 0;              ///< exit status; meaningless if `signal` is set
  int signal = 0;                   ///< signal that killed the program; 0: it exited by itself
  std::string stdout_text;          ///< its standard output, at most output_bytes_max bytes
  std::string stderr_text;          ///< its standard error, the first error_bytes_max bytes
  bool is_output_truncated = false; ///< killed because of output_bytes_max

  /// Whether the program succeeded and its output is complete.
  [[nodiscard]] bool ok() const noexcept {
    return exit_status == 0 && signal == 0 && !is_output_truncated;
  }
};

/// Finds a program in the same way as run_process(). May be called from any thread.
/// @param name used unchanged if it contains a slash
/// @param path a list of folders as in the environment variable PATH
/// @return the path; errc::not_found if the program does not exist, or an error if it is not
/// executable
[[nodiscard]] result<std::string> find_program(const std::string& name, std::string_view path);

/// Returns a permanent error that prevents the program from starting; nullopt if there is none. The
/// error may be a missing program or folder, a file that is not executable, a script with a missing
/// interpreter, or a kernel without pidfd_open(2). Does not run the program. May be called from any
/// thread.
[[nodiscard]] std::optional<error> find_start_fault(const process_request& request);

/// Runs a program and waits for its end. Any number of programs may run at a time; waiting suspends
/// the coroutine and blocks no thread. May be called from any thread.
///
/// The program gets default signal handlers and a process group of its own. The group is killed at
/// the timeout, when there is too much output, when the awaiting coroutine is destroyed, and after
/// the program itself has exited. So no process that a call has started outlives the call, except
/// processes that leave the group with setsid(2).
///
/// The group is also killed when this process ends, even by SIGKILL: a guard process kills the
/// group, and the kernel kills the program itself (PR_SET_PDEATHSIG) unless it is set-user-ID.
///
/// If the machine lacks descriptors, processes or memory, programs wait in the order of their
/// calls. They are started when another program ends, or after a growing pause.
///
/// @param io must outlive the task
/// @return how the program ended, or an error: errc::shortage (no resources within
/// start_wait_max; nothing was run), errc::not_found (no such program or folder),
/// errc::timed_out, errc::cancelled (the io_runtime was destroyed), errc::invalid_argument, or the
/// code of the failed system call. The task throws std::bad_alloc only if nothing was run.
[[nodiscard]] task<result<process_result>> run_process(io_runtime& io, process_request request);

} // namespace superstep

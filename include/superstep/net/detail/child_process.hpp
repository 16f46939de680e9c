// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>
#include <superstep/base/task.hpp>
#include <superstep/net/io_runtime.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace superstep {

/// Limits that the kernel keeps for one program and its children (setrlimit(2)); 0 = the caller's,
/// for open files from before raise_descriptor_limit().
struct process_limits {
  std::uint64_t memory_bytes = 0; ///< of address space, each process
  std::uint64_t cpu_s = 0;        ///< seconds of processor time, each process
  std::uint64_t files = 0;        ///< open files, each process
  std::uint64_t processes = 0;    ///< of the user as a whole, so count what else the user runs
};

/// A program to run once. No shell reads any of it.
struct process_request {
  std::vector<std::string> argv; ///< the program, found through PATH, and its arguments
  std::string stdin_text;        ///< written to its standard input, which is then closed
  /// Its whole environment; unset: the caller's.
  std::optional<std::vector<std::pair<std::string, std::string>>> environment;
  std::string working_directory;              ///< empty: the caller's
  process_limits limits{};
  std::uint32_t timeout_ms = 60'000;          ///< 0 = none
  /// The longest wait for free descriptors, processes and memory. Part of timeout_ms.
  std::uint32_t start_wait_max_ms = 30'000;
  std::size_t output_bytes_max = 1024 * 1024; ///< of standard output; more ends the program
  std::size_t error_bytes_max = 4 * 1024;     ///< of standard error; what goes beyond is dropped
};

/// How it ended: `exit_status`, or `signal` when one killed it.
struct process_result {
  int exit_status = 0;
  int signal = 0;                   ///< 0: it ended by itself
  std::string stdout_text;          ///< at most output_bytes_max bytes
  std::string stderr_text;          ///< its first error_bytes_max bytes
  bool is_output_truncated = false; ///< there was more output, and the program was killed for it

  [[nodiscard]] bool ok() const noexcept {
    return exit_status == 0 && signal == 0 && !is_output_truncated;
  }
};

/// Returns the path of a program as run_process finds it: argv[0] itself when it has a slash,
/// otherwise in the folders of `path`. Fails when it does not exist or may not be executed.
[[nodiscard]] result<std::string> find_program(const std::string& name, std::string_view path);

/// Returns what would keep the request from being started whenever it is tried: no such program or
/// folder, a file that cannot be executed, a script whose interpreter does not exist, a kernel
/// without pidfd_open(2). Runs nothing.
[[nodiscard]] std::optional<error> find_start_fault(const process_request& request);

/// Runs the program and waits for its end; any number at a time, and no thread waits.
///
/// It gets default signals and a process group of its own. The group is killed when the time is over, when there is too
/// much output, when the awaiting coroutine goes away, and also when the program itself has ended:
/// nothing that a call has started outlives the call (what leaves the group by setsid(2) does).
/// The group is killed as well when this process ends, by SIGKILL too: a guard process sees to it,
/// and the kernel for the program itself (PR_SET_PDEATHSIG), unless it is set-user-ID.
///
/// When the machine lacks descriptors, processes or memory, programs wait in the order of their
/// calls and are started when there is room: at the end of another one, or after a growing pause.
/// Errors: errc::shortage (no room within start_wait_max_ms; nothing was run), errc::not_found (no
/// such program or folder), errc::timed_out, errc::cancelled (the io_runtime went away),
/// errc::invalid_argument, or the code of the system call that failed.
[[nodiscard]] task<result<process_result>> run_process(io_runtime& io, process_request request);

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/result.hpp>
#include <superstep/base/task.hpp>
#include <superstep/net/io_context.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace superstep {

/// A program to run once. No shell reads any of it.
struct process_request {
  std::vector<std::string> argv; ///< the program, found through PATH, and its arguments
  std::string stdin_text;        ///< written to its standard input, which is then closed
  /// Its whole environment; unset: the caller's.
  std::optional<std::vector<std::pair<std::string, std::string>>> environment;
  std::string working_directory;              ///< empty: the caller's
  std::uint32_t timeout_ms = 60'000;          ///< 0 = none
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

/// Runs the program and waits for its end; any number at a time, and no thread waits.
///
/// It gets a process group of its own. The group is killed when the time is over, when there is too
/// much output, when the awaiting coroutine goes away, and also when the program itself has ended:
/// nothing that a call has started outlives the call (what leaves the group by setsid(2) does).
/// Errors: errc::not_found (no such program or folder), errc::timed_out, errc::cancelled (the
/// io_runtime went away), errc::invalid_argument, errc::io_failed.
[[nodiscard]] task<result<process_result>> run_process(io_runtime& io, process_request request);

} // namespace superstep

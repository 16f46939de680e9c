// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>
#include <superstep/net/detail/child_process.hpp>
#include <superstep/net/io_runtime.hpp>
#include <superstep/tools/tool.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace superstep {

/// A sandbox of bubblewrap (bwrap(1), Debian package bubblewrap) around a program: namespaces of its
/// own, the file system read-only, an empty /tmp. Needs unprivileged user namespaces.
struct command_sandbox {
  bool is_on = false;
  bool has_network = false;
  std::vector<std::string> writable{}; ///< folders that the program may write to
};

/// A program as a tool; no shell is involved.
struct command_options {
  std::string name{};
  std::string description{};
  std::vector<std::string> argv{}; ///< the program, found through PATH, and its fixed arguments
  json::object args_schema{};      ///< of the arguments the model gives; empty: any
  std::chrono::milliseconds timeout{60'000};
  std::size_t max_output_bytes = 1024 * 1024; ///< of standard output; more is an error result
  /// Variables of our environment that it sees, beside PATH, HOME, LANG, LC_*, TZ and TMPDIR.
  std::vector<std::string> env_names{};
  std::vector<std::pair<std::string, std::string>> env_values{}; ///< variables that are set for it
  std::string cwd{};                                             ///< empty: ours
  process_limits limits{};
  command_sandbox sandbox{};
};

/// The arguments are written as JSON to the program's standard input; what it writes to standard
/// output is the result, without the last line break. An exit status other than 0 is an error
/// result with the start of standard error. Program and children are killed when the time is over
/// or the call is cancelled; no thread waits for them.
///
/// Its environment is what the options name, with SUPERSTEP_RUN_KEY, SUPERSTEP_TOOL_CALL_ID,
/// SUPERSTEP_ATTEMPT and SUPERSTEP_IDEMPOTENCY_KEY.
///
/// A program that cannot be started fails the run (tool_unavailable) and is never an answer: the
/// machine is short of something for longer than process_request::start_wait_max_ms, or the set-up
/// is wrong, which find_command_fault() finds before.
/// Errors: no name, no program, a bound of 0, a schema that is none. `io` is kept by the tool.
[[nodiscard]] result<tool_ptr> make_command(std::shared_ptr<io_runtime> io,
                                            command_options options);

/// Makes a tool from a program: make_command() with shared_io_runtime().
///
///     auto tool = make_tool("date", "Prints the date.", {.argv = {"date"}});
///
/// @throws std::system_error for options that are not valid
[[nodiscard]] tool_ptr make_tool(std::string name, std::string description,
                                 command_options options);

/// Returns what would keep the program from being started at any time (see find_start_fault): a
/// missing program or folder, a file that cannot be executed, a sandbox that cannot be made. A
/// sandbox is tried by starting true(1) in it.
[[nodiscard]] std::optional<error> find_command_fault(io_runtime& io,
                                                      const command_options& options);

} // namespace superstep

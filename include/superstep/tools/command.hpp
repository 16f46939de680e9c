// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>
#include <superstep/net/detail/child_process.hpp>
#include <superstep/net/io_runtime.hpp>
#include <superstep/tools/detail/tool_failure.hpp>
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

/// Options for running a program in a sandbox of bubblewrap (bwrap(1), Debian package bubblewrap):
/// separate namespaces, a read-only file system and an empty /tmp. Requires unprivileged user
/// namespaces.
struct command_sandbox {
  bool is_on = false;                  ///< whether to use a sandbox
  bool has_network = false;            ///< whether the program may use the network
  std::vector<std::string> writable{}; ///< folders that the program may write to
};

/// The way in which a program receives the calls of a tool.
enum class command_protocol : std::uint8_t {
  once, ///< the program is started for each call: arguments on standard input, result on its output
  /// The program stays and serves many calls: one JSON line in, one JSON line out. See
  /// make_command().
  jsonl,
};

/// Maximum of command_options::workers.
inline constexpr std::size_t command_workers_max = 1024;

/// Options of make_command(): a program as a tool, run without a shell.
struct command_options {
  std::string name{};              ///< name of the tool; required
  std::string description{};       ///< text for the model
  std::vector<std::string> argv{}; ///< the program, found through PATH, and its fixed arguments
  json::object args_schema{};      ///< JSON Schema of the arguments; empty: any
  command_protocol protocol = command_protocol::once; ///< how the program receives calls
  /// For command_protocol::jsonl: maximum number of processes; 0: one per processor core.
  std::size_t workers = 0;
  /// For command_protocol::jsonl: whether the model reads the failure of a process as the result of
  /// its call. Otherwise the run fails with tool_errc::worker_failed, because a program that works
  /// reports errors for the model in its answers.
  bool answers_failures = false;
  /// Maximum duration of one call; a longer call is killed and is an error result. With
  /// command_protocol::jsonl it starts when a process receives the call.
  std::chrono::milliseconds timeout{60'000};
  /// Size limit of standard output, or of one line of it with command_protocol::jsonl; more is an
  /// error result.
  std::size_t max_output_bytes = 1024 * 1024;
  /// Names of environment variables of this process to pass to the program, in addition to PATH,
  /// HOME, LANG, LC_*, TZ and TMPDIR.
  std::vector<std::string> env_names{};
  std::vector<std::pair<std::string, std::string>> env_values{}; ///< variables to set
  std::string cwd{};         ///< working directory; empty: that of this process
  process_limits limits{};   ///< resource limits
  command_sandbox sandbox{}; ///< off by default
};

/// Makes a tool that runs a program.
///
/// The arguments of a call are written as JSON to the program's standard input. Its standard
/// output, without the last line break, is the result. An exit status other than 0 gives an error
/// result with the start of standard error. The program and its children are killed at the timeout
/// or when the call is cancelled. Waiting suspends the call and blocks no thread.
///
/// The environment contains the variables of the options and SUPERSTEP_RUN_KEY,
/// SUPERSTEP_TOOL_CALL_ID, SUPERSTEP_ATTEMPT and SUPERSTEP_IDEMPOTENCY_KEY.
///
/// A program that cannot be started fails the run with tool_unavailable, and the model gets no
/// result. Either the machine lacks descriptors, processes or memory for longer than
/// process_request::start_wait_max, or the configuration is wrong; find_command_fault() detects
/// the latter in advance.
///
/// With command_protocol::jsonl, a process serves many calls, one at a time. It is started when a
/// call finds no free process, up to `workers`. Further calls wait in the order of their arrival.
/// The process reads one line for each call, without a line break inside it:
///
///     {"id": 7, "tool": "name", "arguments": {…}, "run_key": "…", "tool_call_id": "…",
///      "attempt": 1, "idempotency_key": "…"}
///
/// It answers with one line, `{"id": 7, "result": …}` or `{"id": 7, "error": "text"}`. A result
/// that is a text or a list of content blocks is used unchanged; any other value becomes JSON text.
/// If the process exits, does not answer in time, or writes an invalid or a second line, it is
/// killed and replaced, and the call fails the run with tool_failed, or has an error result with
/// `answers_failures`. The text contains the end of standard error. A cancelled call also kills its
/// process. When the tool is destroyed, standard input is closed, and processes that do not exit
/// within 2 seconds are killed. If four processes end without any answer, the next failed call
/// fails the run with tool_unavailable.
///
/// May be called from any thread. Any number of threads may call the tool at once.
///
/// @param io runs the program; shared by the tool; must not be null
/// @param options see command_options; `name` and `argv` are required
/// @return the tool; errc::invalid_argument for a missing name or program, a limit of 0, or an
/// invalid schema
[[nodiscard]] result<tool_ptr> make_command(std::shared_ptr<io_runtime> io,
                                            command_options options);

/// Makes a tool that runs a program: make_command() with shared_io_runtime().
///
///     auto tool = make_tool("date", "Prints the date.", {.argv = {"date"}});
///
/// May be called from any thread.
/// @param name name of the tool; replaces the name in the options
/// @param description text for the model; replaces the description in the options
/// @param options see command_options; `argv` is required
/// @throws std::system_error for invalid options, or if the I/O thread cannot be started
[[nodiscard]] tool_ptr make_tool(std::string name, std::string description,
                                 command_options options);

/// Checks whether the program of a tool can be started on this machine. If a sandbox is configured,
/// blocks while it starts true(1) in it. May be called from any thread, except that of `io`.
/// @param io runs the program that tests the sandbox
/// @param options see command_options
/// @return a permanent error: a missing program or folder, a file that is not executable, or a
/// sandbox that cannot be created; nullopt if there is none. A shortage of the machine is not
/// reported
[[nodiscard]] std::optional<error> find_command_fault(io_runtime& io,
                                                      const command_options& options);

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "batch/files.hpp"

#include <boost/json.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace superstep::testing {

namespace json = boost::json;

/// Exit status of a process and its output.
struct ended_process {
  int exit_code = -1; ///< -1 if it was ended by `signal`
  int signal = 0;
  std::string out;
  std::string err;
};

/// Standard input of a child: none, or a pipe without data until close_input() or the parent's end.
enum class child_input : std::uint8_t { none, held_open };

/// A child process with its output in files. Killed by the destructor.
class process {
public:
  explicit process(const std::vector<std::string>& arguments,
                   child_input input = child_input::none);
  ~process();
  process(const process&) = delete;
  process& operator=(const process&) = delete;

  [[nodiscard]] pid_t id() const noexcept { return pid_; }
  void send(int signal) const;
  void close_input();
  /// Returns the first line of output without its line end. Throws if the process ends or `time`
  /// passes without one.
  [[nodiscard]] std::string read_line(std::chrono::milliseconds time = std::chrono::seconds{30});
  /// Whether the process ends within the time.
  [[nodiscard]] bool wait_for(std::chrono::milliseconds time);
  /// Waits for the process to end; kills it after `time`.
  [[nodiscard]] ended_process wait(std::chrono::milliseconds time = std::chrono::minutes{5});

private:
  temporary_folder folder_;
  pid_t pid_ = -1;
  int input_ = -1; ///< write end of the pipe; -1 if there is none
  int status_ = 0;
  bool has_ended_ = false;
};

/// Returns the path of a program of this build.
[[nodiscard]] std::string program(std::string_view name);
/// Returns the path of a helper program of the tests.
[[nodiscard]] std::string helper_program(std::string_view name);
[[nodiscard]] std::string superstep_program();
/// Returns the path of a folder or file of the shared test data; empty if it is missing.
[[nodiscard]] std::string shared_data(std::string_view name);

/// A command-line job with agent, input and output in a temporary folder.
struct cli_job {
  /// Returns the command line. `more` are additional arguments of `superstep run`.
  [[nodiscard]] std::vector<std::string> arguments(const std::vector<std::string>& more = {}) const;
  [[nodiscard]] ended_process run(const std::vector<std::string>& more = {}) const;
  void write(std::string_view name, std::string_view bytes) const {
    write_file(folder / name, bytes);
  }
  [[nodiscard]] std::string read(std::string_view name) const { return read_file(folder / name); }

  temporary_folder folder;
  std::string agent = folder / "agent.yaml";
  std::string input = folder / "in.jsonl";
  std::string output = folder / "out.jsonl";
};

using rows_by_key = std::map<std::string, json::object>;

/// Returns the complete lines of a JSONL text by `custom_id` or `id`, without members that differ
/// between runs (wall_ms, barrier_wait_ms, attempt, job_id). Throws if a key occurs twice.
[[nodiscard]] rows_by_key read_rows(std::string_view jsonl);
[[nodiscard]] std::vector<json::object> read_objects(std::string_view jsonl);
[[nodiscard]] std::string text_at(const json::object& object, std::string_view name);
/// Returns the messages of an output row.
[[nodiscard]] const json::array& messages_of(const json::object& row);
/// Fails the test with one line per difference, at most ten.
void check_equal_rows(const rows_by_key& found, const rows_by_key& expected);

} // namespace superstep::testing

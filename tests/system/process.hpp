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

/// How a process ended and what it wrote.
struct ended_process {
  int exit_code = -1; ///< -1: ended by `signal`
  int signal = 0;
  std::string out;
  std::string err;
};

/// What a child reads: nothing, or nothing until its parent is gone or calls close_input().
enum class child_input : std::uint8_t { none, held_open };

/// A child process whose outputs go to files. Killed when the object goes away.
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
  /// The first line it writes, without its end. Throws when it ends, or `time` does, without one.
  [[nodiscard]] std::string read_line(std::chrono::milliseconds time = std::chrono::seconds{30});
  /// Whether it has ended within the time.
  [[nodiscard]] bool wait_for(std::chrono::milliseconds time);
  /// Waits for its end; after `time` it is killed.
  [[nodiscard]] ended_process wait(std::chrono::milliseconds time = std::chrono::minutes{5});

private:
  temporary_folder folder_;
  pid_t pid_ = -1;
  int input_ = -1; ///< our end of the pipe; -1: none
  int status_ = 0;
  bool has_ended_ = false;
};

/// A program of this build.
[[nodiscard]] std::string program(std::string_view name);
/// Returns the path of a helper program of the tests.
[[nodiscard]] std::string helper_program(std::string_view name);
[[nodiscard]] std::string superstep_program();
/// A folder or file of the reference data; empty when it is not there.
[[nodiscard]] std::string shared_data(std::string_view name);

/// One job of the command line: agent, input and output in a folder of its own.
struct cli_job {
  /// `more` are further arguments of `superstep run`.
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

/// The complete lines of a JSONL text by `custom_id` or `id`, without what differs from run to run
/// (wall_ms, attempt, job_id). Throws when a key comes twice.
[[nodiscard]] rows_by_key read_rows(std::string_view jsonl);
[[nodiscard]] std::vector<json::object> read_objects(std::string_view jsonl);
[[nodiscard]] std::string text_at(const json::object& object, std::string_view name);
/// The messages of an output row.
[[nodiscard]] const json::array& messages_of(const json::object& row);
/// Fails the test with a line per difference, at most ten.
void check_equal_rows(const rows_by_key& found, const rows_by_key& expected);

} // namespace superstep::testing

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/agent_options.hpp>
#include <superstep/base/error.hpp>

#include <cstdint>
#include <fstream>
#include <mutex>
#include <string>
#include <string_view>

namespace superstep::cli {

/// A file of JSON lines that records the start and end of each model and tool call of a job, and
/// the retries of model calls. docs/batch-files.md describes the members of a line.
/// @par Threads
/// add() may be called by any thread.
class event_log {
public:
  /// Sets the path of the log. Fails if the path cannot be written, or is an existing file that is
  /// not an event log. An earlier log is not changed yet, because the job may still be rejected.
  [[nodiscard]] result<void> set_path(std::string path);
  /// Opens the log to append to it if it is that of an earlier run of the same job. Otherwise,
  /// clears it, or creates the file so that only its owner can read it.
  /// @param job id of the job, which the first line of each run contains
  [[nodiscard]] result<void> open(const std::string& job);
  /// Adds a line.
  /// @param row_attempt row_request::attempt
  void add(std::string_view row, std::uint32_t row_attempt, const call_event& event);
  /// Writes all buffered lines and closes the file. Fails if a line was lost. No effect if the log
  /// is not open.
  [[nodiscard]] result<void> close();

private:
  std::mutex mutex_;
  std::ofstream file_;
  std::string path_;
  std::string job_;          // id of the job until the first line of this run; then empty
  std::int64_t flushed_ = 0; // time of the last flush, on the clock of t_ns
};

} // namespace superstep::cli

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
  /// Clears the log of an earlier run, or creates the file so that only its owner can read it.
  [[nodiscard]] result<void> open();
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
  std::int64_t flushed_ = 0; // time of the last flush, on the clock of t_ns
};

} // namespace superstep::cli

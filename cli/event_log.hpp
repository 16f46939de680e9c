// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>

#include <cstdint>
#include <fstream>
#include <mutex>
#include <string>
#include <string_view>

namespace superstep::cli {

/// A file of JSON lines with the start and end of each model and tool call of a job:
/// {"row":"…","event":"tool_start"|"tool_end"|"model_start"|"model_end","call_id":"…","t_ns":…}.
/// The id of a model call is its number in the row, from 0. `t_ns` is a monotonic time in
/// nanoseconds with an arbitrary origin, so only differences are meaningful.
/// @par Threads
/// add() may be called by any thread.
class event_log {
public:
  /// Sets the path of the log. An error if it cannot be written or is a file other than an event
  /// log. Changes nothing yet: the job may still be rejected, and an earlier log is then kept.
  [[nodiscard]] result<void> set_path(std::string path);
  /// Clears the log of an earlier run, or creates the file, readable by its owner only.
  [[nodiscard]] result<void> open();
  void add(std::string_view row, std::string_view event, std::string_view call_id);
  /// Writes all buffered lines. An error if any line was lost. No effect if the log was not opened.
  [[nodiscard]] result<void> close();

private:
  std::mutex mutex_;
  std::ofstream file_;
  std::string path_;
  std::int64_t flushed_ = 0; // time of the last flush, on the clock of t_ns
};

} // namespace superstep::cli

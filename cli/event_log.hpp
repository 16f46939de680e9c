// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>

#include <cstdint>
#include <fstream>
#include <mutex>
#include <string>
#include <string_view>

namespace superstep::cli {

/// A file of JSON lines that says when the model and tool calls of a job began and ended:
/// {"row":"…","event":"tool_start"|"tool_end"|"model_start"|"model_end","call_id":"…","t_ns":…}.
/// The id of a model call is its number in the row, from 0. `t_ns` is monotonic and counts from
/// nowhere in particular: only differences mean something.
/// @par Threads
/// add(): any.
class event_log {
public:
  /// Sets the path of the log. Refuses one that cannot be written, and a file that is not an event
  /// log. Changes nothing: the job may still be refused, and then an earlier log is kept.
  [[nodiscard]] result<void> set_path(std::string path);
  /// Truncates the event log of an earlier run, or creates the file, readable by its user alone.
  [[nodiscard]] result<void> open();
  void add(std::string_view row, std::string_view event, std::string_view call_id);
  /// Writes what is still held back. An error if any line was lost. Does nothing if the log was not
  /// opened.
  [[nodiscard]] result<void> close();

private:
  std::mutex mutex_;
  std::ofstream file_;
  std::string path_;
  std::int64_t flushed_ = 0; // when, on the clock of t_ns
};

} // namespace superstep::cli

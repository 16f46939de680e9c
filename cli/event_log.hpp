// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/result.hpp>

#include <fstream>
#include <mutex>
#include <string>
#include <string_view>

namespace superstep::cli {

/// A file of JSON lines that says when the tool calls of a job began and ended:
/// {"row":"…","event":"tool_start"|"tool_end","call_id":"…","t_ns":…}. `t_ns` is monotonic and
/// counts from nowhere in particular: only differences mean something.
/// @par Threads
/// add(): any.
class event_log {
public:
  /// Begins the file anew.
  [[nodiscard]] result<void> open(const std::string& path);
  void add(std::string_view row, std::string_view event, std::string_view call_id);
  /// Writes what is still held back; an error when any line was lost.
  [[nodiscard]] result<void> close();

private:
  std::mutex mutex_;
  std::ofstream file_;
  std::string path_;
};

} // namespace superstep::cli

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/result.hpp>

#include <mutex>
#include <string>

namespace superstep::models {

/// A recording that answers are added to, a whole line at a time.
///
/// open() refuses a file with other content. A last line that is torn is removed first, unless
/// another process is adding to the file. A line that could not be written whole is removed again.
///
/// @par Threads
/// add(): any.
class recording_file {
public:
  recording_file() = default;
  recording_file(recording_file&& other) noexcept;
  recording_file& operator=(recording_file&&) = delete;
  ~recording_file();

  /// @param note what was repaired; empty: nothing
  [[nodiscard]] static result<recording_file> open(std::string path, std::string& note);
  /// Adds `line` and a newline. errc::io_failed: the disk refused, and nothing was added.
  [[nodiscard]] result<void> add(std::string line);

private:
  [[nodiscard]] result<void> check_and_repair(std::string& note);

  std::string path_;
  std::mutex mutex_;
  int fd_ = -1;
};

} // namespace superstep::models

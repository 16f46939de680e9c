// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/result.hpp>

#include <mutex>
#include <string>

namespace superstep::models {

/// A recording that answers are added to, a whole line at a time.
///
/// open() refuses a file with other content, and a path where none can be made. It creates nothing:
/// a program that is refused afterwards leaves no file. A last line that is torn is removed, unless
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
  /// Adds `line` and a newline; the first one creates the file. errc::io_failed: the disk refused,
  /// and nothing was added. errc::shortage: no descriptor was left to create the file.
  [[nodiscard]] result<void> add(std::string line);

private:
  [[nodiscard]] result<void> check_and_repair(std::string& note);
  [[nodiscard]] result<void> create();

  std::string path_;
  std::mutex mutex_;
  int fd_ = -1; // below 0: not created yet
};

} // namespace superstep::models

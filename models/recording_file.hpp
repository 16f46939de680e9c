// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>

#include <mutex>
#include <string>

namespace superstep::models {

/// A journal file to which whole lines are appended.
///
/// open() rejects a file with other content and a path where no file can be created. It does not
/// create the file, so that a program that fails later leaves none behind. An incomplete last line
/// is removed, unless another process is appending to the file. A line that could not be written
/// completely is removed again.
///
/// @par Threads
/// add() may be called by any number of threads.
class recording_file {
public:
  recording_file() = default;
  recording_file(recording_file&& other) noexcept;
  recording_file& operator=(recording_file&&) = delete;
  ~recording_file();

  /// Opens an existing file or checks that it can be created. @param note receives a description of
  /// a repair, or ""
  [[nodiscard]] static result<recording_file> open(std::string path, std::string& note);
  /// Appends `line` and a newline; the first call creates the file. Returns errc::io_failed if the
  /// write failed, in which case nothing was appended, and errc::shortage if the file could not be
  /// created for lack of descriptors or memory.
  [[nodiscard]] result<void> add(std::string line);

private:
  [[nodiscard]] result<void> check_and_repair(std::string& note);
  [[nodiscard]] result<void> create();

  std::string path_;
  std::mutex mutex_;
  int fd_ = -1; // -1: not created yet
};

} // namespace superstep::models

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>

#include <mutex>
#include <string>

namespace superstep::models {

/// The file of a recording, to which complete lines are appended.
///
/// open() rejects a file with other content, and a path where a file cannot be created. It does not
/// create the file, so that a program that fails early does not leave an empty file. It removes an
/// incomplete last line, unless another process may be writing that line. If a line cannot be
/// written completely, add() removes the part that was written, unless another process has already
/// appended a line after it.
///
/// @par Threads
/// add() may be called by several threads at the same time.
class recording_file {
public:
  recording_file() = default;
  recording_file(recording_file&& other) noexcept;
  recording_file& operator=(recording_file&&) = delete;
  ~recording_file();

  /// Opens an existing file, or checks that it can be created.
  /// @param note receives a description of a repair; empty without one
  [[nodiscard]] static result<recording_file> open(std::string path, std::string& note);
  /// Appends `line` and a newline. The first call creates the file. Returns errc::io_failed if the
  /// line cannot be written completely or the file is not a recording, and errc::shortage if the
  /// file cannot be created because descriptors or memory are exhausted.
  [[nodiscard]] result<void> add(std::string line);

private:
  [[nodiscard]] result<void> check_and_repair(std::string& note);
  [[nodiscard]] result<void> create();

  std::string path_;
  std::mutex mutex_;
  int fd_ = -1; // -1: not created yet
};

} // namespace superstep::models

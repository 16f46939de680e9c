// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>

#include <cstdint>
#include <span>
#include <string>

namespace superstep {

/// A path passed to a program, and how the program uses it.
struct used_file {
  /// The ways in which a program uses a file.
  enum class use : std::uint8_t { read, written };

  std::string what;    ///< name for errors: "--output", "the input", "record in agent.yaml"
  std::string path;    ///< the path; an empty one is ignored
  use how = use::read; ///< what the program does with it
};

/// Returns an error if two paths lead to the same file and at least one of them is written, because
/// the program would then destroy its own input or output. Files are compared by device and inode,
/// so symbolic and hard links are detected. A file that does not exist yet is compared by folder
/// and name, after following symbolic links. Devices, pipes and empty paths are ignored.
[[nodiscard]] result<void> check_distinct_files(std::span<const used_file> files);

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/result.hpp>

#include <cstdint>
#include <span>
#include <string>

namespace superstep {

/// A path that a program was given, and what for.
struct used_file {
  enum class use : std::uint8_t { read, written };

  std::string what; ///< as the user knows it: "--output", "the input", "record in agent.yaml"
  std::string path;
  use how = use::read;
};

/// Refuses two paths that lead to one file if at least one of them is written. Files are compared
/// by device and inode, so symbolic and hard links do not hide them. A file that does not exist is
/// compared by its folder and name, where a symbolic link leads. Devices and pipes are not
/// compared, and empty paths are ignored.
[[nodiscard]] result<void> check_distinct_files(std::span<const used_file> files);

} // namespace superstep

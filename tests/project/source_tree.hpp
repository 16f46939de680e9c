// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace project {

/// One C++ file of the project; the path is relative to the top of the tree.
struct source_file {
  std::string path;
  std::vector<std::string> lines;
};

/// One `#include` of a file, without its brackets or quotes.
struct include_line {
  std::string target;
  std::size_t line = 0;
};

/// All .hpp and .cpp files under the given top-level folder, in order of their paths.
std::vector<source_file> read_folder(const std::string& folder);

/// All includes of a file.
std::vector<include_line> includes_of(const source_file&);

/// The component that a path belongs to: `base` for `base/error.cpp` and
/// `include/superstep/base/…`.
std::string component_of(const std::string& path);

} // namespace project

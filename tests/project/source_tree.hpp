// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace project {

/// One C++ file of the project; the path is relative to the root of the tree.
struct source_file {
  std::string path;
  std::vector<std::string> lines;
};

/// One `#include` of a file, without its brackets or quotes.
struct include_line {
  std::string target;
  std::size_t line = 0;
};

/// Returns the names of the top-level folders, without `build` and hidden folders.
std::vector<std::string> top_folders();

/// Returns all .hpp and .cpp files under a top-level folder, sorted by path.
std::vector<source_file> read_folder(const std::string& folder);

/// Returns all includes of a file.
std::vector<include_line> includes_of(const source_file&);

/// Returns the component that a path belongs to: `base` for `base/error.cpp` and
/// `include/superstep/base/…`.
std::string component_of(const std::string& path);

} // namespace project

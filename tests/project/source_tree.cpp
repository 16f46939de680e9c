// SPDX-License-Identifier: Apache-2.0
// Reads the source files of the tree and their includes.
#include "project/source_tree.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string_view>

namespace project {

namespace {

constexpr auto top = std::string_view{SUPERSTEP_TREE};
constexpr auto public_headers = std::string_view{"include/superstep/"};

source_file read(const std::filesystem::path& path) {
  auto in = std::ifstream{path};
  if (!in)
    throw std::runtime_error{"cannot read " + path.string()};
  auto out = source_file{std::filesystem::relative(path, top).string(), {}};
  for (auto line = std::string{}; std::getline(in, line);)
    out.lines.push_back(line);
  return out;
}

} // namespace

std::vector<std::string> top_folders() {
  auto out = std::vector<std::string>{};
  for (const auto& entry : std::filesystem::directory_iterator{top})
    if (const auto name = entry.path().filename().string();
        entry.is_directory() && name != "build" && !name.starts_with('.'))
      out.push_back(name);
  return out;
}

std::vector<source_file> read_folder(const std::string& folder) {
  auto out = std::vector<source_file>{};
  const auto path = std::filesystem::path{top} / folder;
  if (!std::filesystem::is_directory(path))
    return out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator{path})
    if (entry.path().extension() == ".hpp" || entry.path().extension() == ".cpp")
      out.push_back(read(entry.path()));
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return out;
}

std::vector<include_line> includes_of(const source_file& file) {
  auto out = std::vector<include_line>{};
  for (auto i = std::size_t{0}; i < file.lines.size(); ++i) {
    const auto& line = file.lines[i];
    const auto hash = line.find_first_not_of(" \t");
    if (hash == std::string::npos || line[hash] != '#' ||
        line.find("include", hash) == std::string::npos)
      continue;
    const auto open = line.find_first_of("<\"", hash);
    const auto close = open == std::string::npos ? open : line.find_first_of(">\"", open + 1);
    if (close != std::string::npos)
      out.push_back({line.substr(open + 1, close - open - 1), i + 1});
  }
  return out;
}

std::string component_of(const std::string& path) {
  const auto start = path.starts_with(public_headers) ? public_headers.size() : 0;
  return path.substr(start, path.find('/', start) - start);
}

} // namespace project

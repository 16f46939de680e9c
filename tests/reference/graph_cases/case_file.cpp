// SPDX-License-Identifier: Apache-2.0
// Reads the files of recorded graph cases.
#include "graph_cases/case_file.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include <zlib.h>

namespace superstep::graph_cases {

namespace {

/// Returns the lines of a file, compressed or not.
std::vector<std::string> lines_of(const std::filesystem::path& path) {
  auto* const file = ::gzopen(path.c_str(), "rb");
  if (file == nullptr)
    throw std::runtime_error{"cannot read " + path.string()};
  auto text = std::string{};
  auto block = std::array<char, 1 << 16>{};
  for (auto n = 0; (n = ::gzread(file, block.data(), block.size())) > 0;)
    text.append(block.data(), static_cast<std::size_t>(n));
  ::gzclose(file);
  auto lines = std::vector<std::string>{};
  for (auto begin = std::size_t{0}; begin < text.size();) {
    const auto end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

std::vector<std::filesystem::path> case_files() {
  auto out = std::vector<std::filesystem::path>{};
  for (const auto& entry : std::filesystem::directory_iterator{SUPERSTEP_GRAPH_CASES})
    out.push_back(entry.path());
  std::ranges::sort(out);
  return out;
}

} // namespace

void for_each_case(const std::function<void(const json::object&)>& f) {
  for (const auto& path : case_files())
    for (const auto& line : lines_of(path))
      f(parse_json(line).value().as_object());
}

} // namespace superstep::graph_cases

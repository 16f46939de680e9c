// SPDX-License-Identifier: Apache-2.0
#include "docs/recorded_cases.hpp"

#include <boost/json.hpp>

#include <array>
#include <stdexcept>
#include <string_view>

#include <zlib.h>

namespace docs {

namespace {

std::string text_of(const std::filesystem::path& path) {
  auto* const file = ::gzopen(path.c_str(), "rb");
  if (file == nullptr)
    throw std::runtime_error{"cannot read " + path.string()};
  auto text = std::string{};
  auto block = std::array<char, 1 << 16>{};
  for (auto n = 0; (n = ::gzread(file, block.data(), block.size())) > 0;)
    text.append(block.data(), static_cast<std::size_t>(n));
  ::gzclose(file);
  return text;
}

} // namespace

std::set<std::string> recorded_cases(const std::filesystem::path& folder) {
  auto out = std::set<std::string>{};
  for (const auto& entry : std::filesystem::directory_iterator{folder}) {
    const auto text = text_of(entry.path());
    for (auto begin = std::size_t{0}; begin < text.size();) {
      const auto end = std::min(text.find('\n', begin), text.size());
      const auto line = boost::json::parse(std::string_view{text}.substr(begin, end - begin));
      out.emplace(line.at("id").as_string());
      begin = end + 1;
    }
  }
  return out;
}

} // namespace docs

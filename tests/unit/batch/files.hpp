// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>

namespace superstep::testing {

/// Whether a text has a part.
inline bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

inline std::string read_file(const std::filesystem::path& path) {
  auto in = std::ifstream{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

inline void write_file(const std::filesystem::path& path, std::string_view bytes) {
  auto out = std::ofstream{path, std::ios::binary | std::ios::trunc};
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

/// An empty temporary folder, removed by the destructor.
class temporary_folder {
public:
  temporary_folder() {
    auto name = (std::filesystem::temp_directory_path() / "superstep-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
      throw std::runtime_error{"cannot create " + name};
    path_ = name;
  }
  ~temporary_folder() {
    auto ignored = std::error_code{};
    std::filesystem::remove_all(path_, ignored);
  }
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;

  [[nodiscard]] std::string operator/(std::string_view name) const {
    return (path_ / name).string();
  }

private:
  std::filesystem::path path_;
};

} // namespace superstep::testing

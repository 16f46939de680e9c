// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <ios>
#include <optional>
#include <string>
#include <system_error>

namespace superstep::cli {

/// Returns the first bytes of a regular file, at most `size`. Commands recognise by them which
/// files they may overwrite.
/// @return an empty text if the path does not lead to a regular file; nullopt if the file cannot be
///   read, so that it may have any content
inline std::optional<std::string> file_start(const std::string& path, std::size_t size) {
  auto failed = std::error_code{};
  if (!std::filesystem::is_regular_file(path, failed)) // opening a FIFO would wait for a writer
    return std::string{};
  auto out = std::string(size, '\0');
  auto in = std::ifstream{path, std::ios::binary};
  if (!in.is_open())
    return std::nullopt;
  in.read(out.data(), static_cast<std::streamsize>(size));
  if (in.bad())
    return std::nullopt;
  out.resize(static_cast<std::size_t>(in.gcount()));
  return out;
}

} // namespace superstep::cli

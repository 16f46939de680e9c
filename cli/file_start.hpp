// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <fstream>
#include <ios>
#include <string>

namespace superstep::cli {

/// Returns the first bytes of a file, at most `size`; an empty text if it cannot be read. Commands
/// recognise by them which files they may overwrite.
inline std::string file_start(const std::string& path, std::size_t size) {
  auto out = std::string(size, '\0');
  auto in = std::ifstream{path, std::ios::binary};
  in.read(out.data(), static_cast<std::streamsize>(size));
  out.resize(static_cast<std::size_t>(in.gcount()));
  return out;
}

} // namespace superstep::cli

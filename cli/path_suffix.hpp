// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace superstep::cli {

/// Returns a path with a suffix before its extension: `out.2.jsonl` for `out.jsonl` and `.2`. The
/// suffix is at the end if the name has no extension, or only starts with a dot.
inline std::string with_suffix(const std::string& path, const std::string& suffix) {
  const auto slash = path.find_last_of('/');
  const auto name = slash == std::string::npos ? 0 : slash + 1;
  const auto dot = path.rfind('.');
  if (dot == std::string::npos || dot <= name)
    return path + suffix;
  return path.substr(0, dot) + suffix + path.substr(dot);
}

} // namespace superstep::cli

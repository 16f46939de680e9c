// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>

#include <string>
#include <string_view>

namespace superstep {

/// Returns a parse error with the location in the JSON: `messages[2].content: must be …`.
[[nodiscard]] inline error fault_at(std::string_view path, std::string_view text) {
  return {errc::parse_failed, std::string{path} + ": " + std::string{text}};
}

} // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

namespace superstep::test {

/// Returns the number in an environment variable, or `otherwise` if the variable is not set. Throws
/// std::invalid_argument or std::out_of_range for other texts.
inline std::uint64_t number_from_environment(const char* variable, std::uint64_t otherwise) {
  const auto* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::stoull(text);
}

} // namespace superstep::test
